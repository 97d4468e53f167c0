// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/supervisor/supervisor.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// A task that is recorded, and planned for hosts of which nobody has said yet what is held there.
struct PlacedLaunch {
  TaskRequest& request;
  const ExperimentConfig& experiment;  ///< as it was read
  Plan& plan;
  TaskRecord& task;
  std::shared_ptr<SqliteTaskStore> store;
  Tee tee;
  std::function<void(const TerminalText& words)> on_steady;
  /// The record of the same task with another plan.
  std::function<TaskRecord(const Plan& plan)> record_of;
  /// Where it does not fit on what is free it waits for it, in the line of its hosts.
  struct Wait {
    std::optional<nanoseconds> limit;  ///< nothing: without an end
  };
  std::optional<Wait> wait = {};
};

/// Runs it to its end. No host is asked before: where all slots are free, that would only cost
/// time. Where others hold some of them, all hosts are asked what is held, and the task is planned
/// once more for the rest; the user is told what is different. Some times at most: others may be
/// faster each time. Where it does not fit on what is free, it waits until it is its turn, or ends
/// with class `busy`.
Ended launch_where_free(PlacedLaunch launch, StopSignals& signals);

}  // namespace train
