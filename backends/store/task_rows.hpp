// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// The SQL of the task table. Functions throw SQLite::Exception; a row that no train can have
// written is reported as one of SQLITE_CORRUPT.

/// False when the id is taken.
bool insert_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Puts a task in the place of the one of its id: nothing is left of that and its journal. False
/// when there is no such task.
bool replace_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes what changes in the life of a task. False when there is no such task.
bool update_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// The same for a task of another launcher, unless it has reached a final state since it was read.
bool record_end(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// The whole record of a task.
std::optional<TaskRecord> read_task(SQLite::Database& database, const std::string& id);
/// Ids that start with `prefix`, in order, at most `limit`.
std::vector<std::string> ids_with_prefix(SQLite::Database& database, const std::string& prefix,
                                         int limit);
/// Tasks, newest first, without `config_text`, `plan_json` and attempts; of those that have ended
/// only what stands in the columns before, without context and ranks.
std::vector<TaskRecord> read_tasks(SQLite::Database& database, bool all);
/// Writes what version control says of the code of a task. False when there is no such task.
bool note_git(SQLite::Database& database, const std::string& id, const GitRecord& git);
/// Deletes a task with its attempts and its journal; nothing is done when there is none.
void delete_task(SQLite::Database& database, const std::string& id);
/// When a task was last written.
UnixMillis last_update(SQLite::Database& database, const std::string& id);

}  // namespace train
