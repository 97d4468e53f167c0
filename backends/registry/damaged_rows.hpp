// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

/// The rows of the task table of a file with damaged pages: their row numbers and task ids. An id
/// may be anything, and is empty where only the number can be read. The table and the indexes lie
/// on different pages, so most damage leaves at least one of them that names every row. Throws
/// SQLite::Exception, except for damage.
std::map<std::int64_t, std::string> rows_left(SQLite::Database& database);

}  // namespace train
