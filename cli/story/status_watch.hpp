// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/story/launch_status.hpp"
#include "launcher/control/control_talk.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Looks at a task of one trial again and again, through what its supervisor knows: durations and
/// rates follow from earlier looks.
class StatusWatch {
 public:
  /// `age`: how long the phase of the task has lasted at the first look.
  explicit StatusWatch(milliseconds age = milliseconds(0)) : age_(age) {}

  /// The status without unfinished lines. Nothing while no attempt is on any host.
  std::optional<LaunchStatus> look(const ControlStatus& seen, const TaskRecord& task, Instant now);

 private:
  void add_usage(const ControlStatus& seen, Instant now, LaunchStatus& status);
  static void add_gpus(const ControlStatus& seen, const TaskRecord& task, LaunchStatus& status);

  /// The CPU time of a rank when its host last reported it, and the cores that it used before.
  struct Used {
    milliseconds cpu{0};
    Instant at{};
    std::optional<double> cpus = {};
  };

  milliseconds age_;
  std::optional<LaunchStatus::Phase> phase_;
  int attempt_ = 0;
  Instant phase_began_{};
  std::map<int, Used> used_;  ///< by rank
};

/// The most unfinished lines, such as progress bars, in the rows below the output.
inline constexpr std::size_t most_unfinished_lines = 4;
/// The interval between two looks while ranks run.
inline constexpr milliseconds between_looks{1'000};

}  // namespace train
