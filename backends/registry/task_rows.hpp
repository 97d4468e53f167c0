// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/record/task_record.hpp"

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// What is written into the task table (`task_reader.hpp` reads it). Functions throw
// SQLite::Exception.

/// False when the id is taken.
bool insert_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Puts a task in the place of the one of its id: nothing is left of that and its journal. False
/// when there is no such task.
bool replace_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes what changes in the life of a task. False when there is no such task.
bool update_task(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// The same for a task of another launcher, unless it has reached a final state since it was read.
bool record_end(SQLite::Database& database, const TaskRecord& task, UnixMillis now);
/// Writes what version control says of the code of a task. False when there is no such task.
bool note_git(SQLite::Database& database, const std::string& id, const GitRecord& git);
/// Deletes a task with its attempts and its journal; nothing is done when there is none.
void delete_task(SQLite::Database& database, const std::string& id);
/// When a task was last written.
UnixMillis last_update(SQLite::Database& database, const std::string& id);

}  // namespace train
