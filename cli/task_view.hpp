// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What is shown of the output of a task.
struct TaskViewing {
  std::optional<int> rank;        ///< only this one's, byte for byte
  bool follow = false;            ///< what comes, too, until the attempt is over
  bool only_last_screen = false;  ///< of what there is already
};

/// Prints what there is of one attempt and, if it may still print and is followed, what comes until
/// it is over or nobody attends the task any more; `task` becomes its record by then. False when
/// nobody reads it.
Result<bool> print_attempt(const TaskViewing& viewing, SqliteTaskStore& store, TaskRecord& task,
                           int attempt);

}  // namespace train
