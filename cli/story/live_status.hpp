// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "cli/logs/rank_output.hpp"
#include "cli/story/launch_status.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/drivers/task_driver.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What a launch of one trial in the foreground does, as rows below the output on its terminal. It
/// looks at the driver a few times per second, and shows nothing for launches that are over at
/// once.
class LiveStatus {
 public:
  /// All arguments must outlive this object.
  LiveStatus(Terminal& terminal, Timers& timers, const RankOutput& output, const TaskRecord& task,
             const Trial& trial)
      : terminal_(terminal), timers_(timers), output_(output), task_(task), trial_(trial) {}

  /// Shows what this driver does until `end`, which must come before the driver goes.
  void follow(const TaskDriver& driver);
  /// Removes the rows.
  void end();

 private:
  void draw();
  LaunchStatus status(const Run& run);
  void add_usage(const Run& run, LaunchStatus& status);

  Terminal& terminal_;
  Timers& timers_;
  const RankOutput& output_;
  const TaskRecord& task_;
  const Trial& trial_;
  const TaskDriver* driver_ = nullptr;
  std::unique_ptr<Subscription> next_;
  RunPhase phase_ = RunPhase::connecting;
  int attempt_ = 0;
  Instant phase_began_{};

  /// The CPU time of a rank when its host last reported it, and the cores that it used before.
  struct Used {
    milliseconds cpu{0};
    Instant at{};
    std::optional<double> cpus = {};
  };
  std::map<int, Used> used_;  ///< by rank
};

}  // namespace train
