// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/logs/merged_logs.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What is shown of the output of a task.
struct TaskViewing {
  MergedLogs::Choice choice;
  bool follow = false;  ///< what comes, too, until the attempt is over
  /// Only of this trial: the task is `only_trial` of it.
  std::optional<int> trial = {};
};

/// Prints what there is of one attempt and, if it may still print and is followed, what comes until
/// it is over or nobody attends the task any more; `task` becomes its record by then. False when
/// nobody reads it.
Result<bool> print_attempt(const TaskViewing& viewing, SqliteTaskStore& store, TaskRecord& task,
                           int attempt);

/// As many lines as a screen has, but for what is said of the view.
std::uint64_t screen_lines();

}  // namespace train
