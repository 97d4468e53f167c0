// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/outcome.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <utility>

namespace train {

std::string signal_name(int signal) {
  static constexpr std::array<std::pair<int, const char*>, 20> names = {{
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
      {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
      {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
      {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},   {SIGSTOP, "SIGSTOP"}, {SIGIO, "SIGIO"},
  }};
  for (const auto& [number, name] : names)
    if (number == signal) return name;
  return fmt::format("signal {}", signal);
}

}  // namespace train
