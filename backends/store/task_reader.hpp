// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/ports/task_store.hpp"
#include "launcher/record/task_record.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// Reads the task table. Functions throw SQLite::Exception; a row that train cannot have written is
// reported as SQLITE_CORRUPT.

/// Whether `id` has the form of a task id. Check it first: ids become part of paths, and of a range
/// in SQL.
bool is_task_id(const std::string& id);

/// The whole record of a task.
std::optional<TaskRecord> read_task(SQLite::Database& database, const std::string& id);
/// Ids that start with `prefix`, in order, at most `limit`.
std::vector<std::string> ids_with_prefix(SQLite::Database& database, const std::string& prefix,
                                         int limit);
/// The recorded tasks, as `TaskStore::list` returns them, but with the recorded states; damaged
/// tasks are without a `next_step`.
TaskList read_tasks(SQLite::Database& database, bool all);

}  // namespace train
