// SPDX-License-Identifier: Apache-2.0
#include "backends/link/agent_binary.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

namespace train {

std::string upload_pause_words(const std::string& host, std::chrono::milliseconds limit) {
  return fmt::format(
      "host '{}' takes nothing of the program that is being copied there; it is waited for until "
      "{:g} "
      "s have passed",
      host, std::chrono::duration<double>(limit).count());
}

std::string machine_of_this_program() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "";
}

}  // namespace train
