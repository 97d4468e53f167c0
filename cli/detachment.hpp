// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "cli/exit_code.hpp"

namespace train {

/// `train launch -d`: the launch goes on in a process of its own once its ranks have started. Until
/// then it belongs to the terminal that it was called from: it may ask there, Ctrl-C ends it, and
/// what is wrong is said there.
class Detachment {
 public:
  /// Forks the process that launches; call it before there are threads. In the new process this
  /// returns nothing. In the old one it returns once the ranks have started, with their task's id
  /// written to stdout, or once the launch has ended without that, with its exit code.
  std::optional<ExitCode> fork();

  /// In the new process, whose ranks have started: leaves session and terminal. What it still has
  /// to say goes to `log_file`, which is made; where that cannot be, nowhere.
  void leave_terminal(const std::string& task_id, const std::string& log_file);

 private:
  ExitCode wait_for_start(int launcher);

  Descriptor report_;  ///< the old process reads the id from its other end
};

}  // namespace train
