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

/// A supervisor that goes on in a process of its own once it is steady (`train launch -d`, `train
/// task attach`). Until then it belongs to the terminal that it was called from: it may ask there,
/// and what is wrong is said there.
class Detachment {
 public:
  /// Forks the new process; call it before there are threads. There this returns nothing. Ctrl-C
  /// and SIGTERM mean the new process until that has reported. In the old one it returns what
  /// `on_report` makes of what the new process has reported, or, when that has ended without a
  /// word, its exit code. The new one leaves no core when it crashes.
  std::optional<ExitCode> fork(const std::function<ExitCode(const std::string& report)>& on_report);

  /// In the new process: leaves session and terminal, whose hang-up means nothing to it then, and
  /// closes what it has inherited from the caller beside the standard streams. What
  /// it still has to say goes to `log_file`, which is made; where that cannot be, nowhere. Only the
  /// first of these two calls counts.
  void leave_terminal(const std::string& report, const std::string& log_file, StopSignals& signals);
  /// In the new process, which is about to end.
  void tell(const std::string& report);

 private:
  Descriptor report_;                  ///< the old process reads it from the other end
  std::vector<Descriptor> inherited_;  ///< of the new process
};

}  // namespace train
