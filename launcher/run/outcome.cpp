// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/outcome.hpp"

#include <fmt/format.h>

#include <array>

namespace train {

// Numbers of Linux on x86-64 and arm64, not those of the machine that this is compiled on: a signal
// may have happened on another host.
std::string signal_name(int signal) {
  static constexpr std::array<const char*, 32> names = {
      "",          "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
      "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
      "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
      "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
  if (signal > 0 && signal < static_cast<int>(names.size())) return names[signal];
  return fmt::format("signal {}", signal);
}

}  // namespace train
