// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

/// The rows of the task table of a file of which pages are damaged: their numbers and the ids of
/// their tasks, which may be anything, or empty where only the number is left. Table and indexes
/// lie on pages of their own, so that most damage leaves one of them that names every row. Throws
/// SQLite::Exception, but not for damage.
std::map<std::int64_t, std::string> rows_left(SQLite::Database& database);

}  // namespace train
