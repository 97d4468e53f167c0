// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "cli/surroundings/stop_signals.hpp"

namespace train {

/// Appends what this process prints from now on to a file (0600); false if it cannot be written.
bool redirect_output(const std::string& file);

/// Moves a supervisor into a process of its own once it is steady (`train launch -d`, `train task
/// attach`). Until then the new process stays attached to the terminal: it may ask there, and
/// errors are reported there.
class Detachment {
 public:
  /// Forks the new process; call it before any thread is started. In the new process this returns
  /// nothing. In the old process, Ctrl-C and SIGTERM are passed on to the new one until it has
  /// reported; returns the result of `on_report` for its report or, if it ended without a report,
  /// its exit code. The new process leaves no core dump when it crashes.
  std::optional<ExitCode> fork(const std::function<ExitCode(const std::string& report)>& on_report);

  /// In the new process: sends the report, leaves the session and the terminal (so that a hang-up
  /// has no effect), and closes the descriptors inherited from the caller except for the standard
  /// streams. Later output goes to `log_file`, which is created; if that fails, the output is
  /// discarded. Only the first call of `leave_terminal` or `send` has an effect.
  void leave_terminal(const std::string& report, const std::string& log_file, StopSignals& signals);
  /// In the new process, just before it ends: sends the report.
  void send(const std::string& report);

 private:
  Descriptor report_;                  ///< the old process reads the other end of this pipe
  std::vector<Descriptor> inherited_;  ///< in the new process
};

}  // namespace train
