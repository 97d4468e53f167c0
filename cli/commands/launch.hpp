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
  bool strict = false;  ///< a search fails if one of its trials fails
  /// How hosts are checked first, if at all. If a host is unfit, nothing is started, unless
  /// `exclude_unfit` is set.
  std::optional<CheckTier> check;
  std::string events;          ///< --events, as typed
  bool exclude_unfit = false;  ///< starts on the fit hosts only
  /// Waits at most this long for slots that other tasks hold; empty: without a limit.
  std::optional<std::string> wait;
  /// The launch is that of a submitted job: the id of its task. The request is read from standard
  /// input.
  std::string in_job;
  bool awaits_viewer = false;  ///< the submitting machine comes to show the task
};
/// Runs the experiment and waits for its end.
ExitCode launch_command(const LaunchFlags& flags);

/// A launched task that has ended.
struct FinishedLaunch {
  TaskRecord task;
  std::shared_ptr<SqliteTaskStore> store;
  Ended ended;
};

/// Options of a launch besides its flags.
struct LaunchWay {
  Detachment* detachment = nullptr;  ///< leaves the terminal with the task, if not null
  std::optional<PlacedLaunch::Wait> wait = {};
  std::string task = {};  ///< its id in the job that was submitted for it; empty: a new one
};

/// Records a task, prints its description, and runs it to its end. Once the task is recorded,
/// signals are held back by `signals`, which must be empty before. On an error nothing was recorded
/// and nothing started.
Result<FinishedLaunch> launch_to_the_end(const Request& request, Plan& plan,
                                         const LaunchFlags& flags, const LaunchWay& how,
                                         std::optional<StopSignals>& signals);

}  // namespace train
