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

// What is read of the task table. Functions throw SQLite::Exception; a row that no train can have
// written is reported as one of SQLITE_CORRUPT.

/// Ids become part of paths, and of a range in SQL.
bool is_task_id(const std::string& id);

/// The whole record of a task.
std::optional<TaskRecord> read_task(SQLite::Database& database, const std::string& id);
/// Ids that start with `prefix`, in order, at most `limit`.
std::vector<std::string> ids_with_prefix(SQLite::Database& database, const std::string& prefix,
                                         int limit);
/// What `TaskStore::list` returns, as it is recorded. What is damaged is without its next step.
TaskList read_tasks(SQLite::Database& database, bool all);

}  // namespace train
