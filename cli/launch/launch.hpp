// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/request/commands.hpp"
#include "cli/supervisor/detachment.hpp"
#include "cli/supervisor/placed_launch.hpp"
#include "cli/supervisor/supervisor.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/text/error.hpp"

namespace train {

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
