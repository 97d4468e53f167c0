// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace train {

namespace {

// Signal numbers of Linux on x86-64 and arm64, not of the machine that this is compiled on: the
// signal may have occurred on another host.
constexpr std::array<const char*, 32> signal_names = {
    "",          "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
    "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
    "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};

Instant earliest(const Failure& failure) { return failure.at.at - failure.at.bound; }
Instant latest(const Failure& failure) { return failure.at.at + failure.at.bound; }

Instant counts_from(const Failure& failure) {
  return failure.rank ? failure.at.at : earliest(failure);
}

}  // namespace

void decide_cause(RunOutcome& outcome, std::vector<Failure> failures,
                  std::optional<Instant> interrupted_at) {
  std::stable_sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) {
    return counts_from(a) < counts_from(b);
  });
  const bool has_cause = std::any_of(failures.begin(), failures.end(), [&](const Failure& failure) {
    return !interrupted_at || latest(failure) < *interrupted_at;
  });
  if (has_cause) {
    outcome.stop_signal.reset();
    outcome.cause = std::move(failures.front());
    failures.erase(failures.begin());
  }
  outcome.others = std::move(failures);
  if (!has_cause) return;
  for (int i = 0; i < static_cast<int>(outcome.others.size()); ++i)
    if (earliest(outcome.others[i]) <= latest(*outcome.cause)) outcome.simultaneous.push_back(i);
}

void interrupt(RunOutcome& outcome, int signal) {
  outcome.stop_signal = signal;
  outcome.simultaneous.clear();
  if (outcome.cause) outcome.others.insert(outcome.others.begin(), std::move(*outcome.cause));
  outcome.cause.reset();
}

std::string signal_name(int signal) {
  if (signal > 0 && signal < static_cast<int>(signal_names.size())) return signal_names[signal];
  return fmt::format("signal {}", signal);
}

std::optional<int> signal_number(std::string_view name) {
  constexpr std::size_t prefix = 3;  // SIG
  for (int signal = 1; signal < static_cast<int>(signal_names.size()); ++signal)
    if (std::string_view(signal_names[signal]).substr(prefix) == name) return signal;
  return std::nullopt;
}

std::string stop_text(int signal) {
  if (signal == runtime_over) return runtime_over_text;
  if (signal == task_moves) return task_moves_text;
  return signal == trial_stop ? trial_stop_text : "stopped by " + signal_name(signal);
}

}  // namespace train
