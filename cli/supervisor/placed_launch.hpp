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

/// A task that is recorded and planned, before its hosts were queried for what is in use.
struct PlacedLaunch {
  TaskRequest& request;
  const ExperimentConfig& experiment;  ///< as read from the file
  Plan& plan;
  TaskRecord& task;
  std::shared_ptr<SqliteTaskStore> store;
  Tee tee;
  std::function<void(const TerminalText& words)> on_steady;
  /// The record of the same task with another plan.
  std::function<TaskRecord(const Plan& plan)> record_of;
  /// If the task does not fit on the free slots, it waits for them in the queue of its hosts.
  struct Wait {
    std::optional<nanoseconds> limit;  ///< nothing: no limit
  };
  std::optional<Wait> wait = {};
  bool may_go_back = false;  ///< as in `SupervisedTask`
};

/// Runs the task to its end. Does not query hosts first: if all slots are free, that would only add
/// latency. If others hold some of them, queries all hosts, plans the task again for the free
/// slots, and tells the user what changed. It does this a limited number of times, because other
/// tasks may take the slots first each time. If the task does not fit on the free slots, it waits
/// for its turn, or ends with class `busy`.
Ended launch_where_free(PlacedLaunch launch, StopSignals& signals);

}  // namespace train
