// SPDX-License-Identifier: Apache-2.0
#include "backends/link/agent_binary.hpp"

#include <sys/utsname.h>

namespace train {

std::string machine_of_this_program() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

}  // namespace train
