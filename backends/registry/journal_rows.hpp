// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace SQLite {  // NOLINT(readability-identifier-naming): the library's name
class Database;
}

namespace train {

// The SQL of the journals of tasks. Functions throw SQLite::Exception.

/// Writes the entry with this number, counted from 0. A `durable` entry is on the disk when this
/// returns, with all entries before it. False, with nothing written, when an entry with this number
/// exists.
bool insert_entry(SQLite::Database& database, const std::string& task, std::int64_t number,
                  const std::string& entry, bool durable);
/// The number of the next entry.
std::int64_t next_entry(SQLite::Database& database, const std::string& task);
/// The first entries, in order, at most `limit`.
std::vector<std::string> read_entries(SQLite::Database& database, const std::string& task,
                                      std::int64_t limit);

}  // namespace train
