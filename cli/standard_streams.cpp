// SPDX-License-Identifier: Apache-2.0
#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace train {

void open_closed_standard_streams() {
  while (true) {
    const int lowest = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (lowest < 0) return;
    if (lowest > STDERR_FILENO) {
      ::close(lowest);
      return;
    }
    // The standard streams are inherited, unlike all other descriptors.
    ::fcntl(lowest, F_SETFD, 0);
  }
}

}  // namespace train
