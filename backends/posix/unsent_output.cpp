// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/unsent_output.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace train {

bool is_passing(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void make_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) (void)::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

bool UnsentOutput::send_some() {
  while (!is_empty()) {
    const ssize_t count = ::write(fd_, bytes_.data() + sent_, size());
    if (count < 0 && !is_passing(errno)) return false;
    if (count < 0) break;
    sent_ += static_cast<std::size_t>(count);
  }
  // Removes the sent bytes once they are at least half of the buffer.
  if (sent_ < size()) return true;
  bytes_.erase(0, sent_);
  sent_ = 0;
  return true;
}

}  // namespace train
