// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/record/task_record.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// Writes the task table (`task_reader.hpp` reads it). Functions throw SQLite::Exception.

/// False when the id is taken.
bool insert_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes the hosts and the plan of a task. False when there is no such task.
bool move_task(SQLite::Database& database, const TaskRecord& task);
/// Replaces the task with the same id, and removes its attempts and journal. False when there is no
/// such task.
bool replace_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes what changes in the life of a task. False when there is no such task.
bool update_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Like `update_task`, for a task of another launcher; does nothing and returns false when the task
/// has reached a final state since it was read.
bool record_end(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes the git state of the code of a task. False when there is no such task.
bool note_git(SQLite::Database& database, const std::string& id, const GitRecord& git);
/// Deletes a task with its attempts and its journal; does nothing when there is none.
void delete_task(SQLite::Database& database, const std::string& id);
/// When a task was last written.
UnixMillis last_update(SQLite::Database& database, const std::string& id);

}  // namespace train
