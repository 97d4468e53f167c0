// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/commands/check.hpp"
#include "cli/logs/rank_output.hpp"
#include "cli/request/request.hpp"
#include "cli/supervisor/detachment.hpp"
#include "cli/supervisor/placed_launch.hpp"
#include "cli/supervisor/supervisor.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/text/error.hpp"

namespace train {

struct LaunchFlags {
  RequestFlags request;
  Tee tee;
  bool raw = false;
  bool json = false;
  bool detach = false;  ///< returns once the ranks have started
  bool strict = false;  ///< a search of which one trial fails has failed
  /// How hosts are looked at first, if at all: where one is not fit nothing is started,
  std::optional<CheckTier> check;
  bool exclude_unfit = false;  ///< or the others are taken
  /// Waits for slots that others hold, so long at most; empty: without an end.
  std::optional<std::string> wait;
};
/// Runs the experiment and waits for its end.
ExitCode launch_command(const LaunchFlags& flags);

/// A task that was launched, and has ended.
struct FinishedLaunch {
  TaskRecord task;
  std::shared_ptr<SqliteTaskStore> store;
  Ended ended;
};

/// How a launch is done beside its flags.
struct LaunchWay {
  Detachment* detachment = nullptr;  ///< that the task leaves the terminal with, if it does
  std::optional<PlacedLaunch::Wait> wait = {};
};

/// Records a task, tells of it, and runs it to its end. From its record on signals are held back by
/// `signals`, which is empty before. An error: nothing was recorded, nothing started.
Result<FinishedLaunch> launch_to_the_end(const Request& request, Plan& plan,
                                         const LaunchFlags& flags, const LaunchWay& how,
                                         std::optional<StopSignals>& signals);

}  // namespace train
