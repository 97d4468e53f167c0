// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/journal_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

namespace train {
namespace {

/// During the lifetime of this object, SQLite waits for the disk at the end of each change: the
/// write-ahead log is then on the disk up to that change, with everything written before it.
class FullSynchronisation {
 public:
  explicit FullSynchronisation(SQLite::Database& database)
      : database_(database), before_(database.execAndGet("PRAGMA synchronous").getInt()) {
    if (before_ < full) database_.exec(fmt::format("PRAGMA synchronous = {}", full));
  }
  ~FullSynchronisation() {
    if (before_ >= full) return;
    // This fails only inside a transaction; the next entries then wait for the disk too.
    (void)database_.tryExec(fmt::format("PRAGMA synchronous = {}", before_));
  }
  FullSynchronisation(const FullSynchronisation&) = delete;
  FullSynchronisation& operator=(const FullSynchronisation&) = delete;

 private:
  static constexpr int full = 2;
  SQLite::Database& database_;
  int before_;
};

bool insert(SQLite::Database& database, const std::string& task, std::int64_t number,
            const std::string& entry) {
  SQLite::Statement statement(database,
                              "INSERT INTO journal (task, number, entry) VALUES (?, ?, ?) "
                              "ON CONFLICT DO NOTHING");
  statement.bind(1, task);
  statement.bind(2, number);
  statement.bind(3, entry);
  return statement.exec() == 1;
}

}  // namespace

bool insert_entry(SQLite::Database& database, const std::string& task, std::int64_t number,
                  const std::string& entry, bool durable) {
  if (!durable) return insert(database, task, number, entry);
  const FullSynchronisation full(database);
  return insert(database, task, number, entry);
}

std::int64_t next_entry(SQLite::Database& database, const std::string& task) {
  SQLite::Statement statement(database,
                              "SELECT coalesce(max(number) + 1, 0) FROM journal WHERE task = ?");
  statement.bind(1, task);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

std::vector<std::string> read_entries(SQLite::Database& database, const std::string& task,
                                      std::int64_t limit) {
  SQLite::Statement statement(database,
                              "SELECT entry FROM journal WHERE task = ? ORDER BY number LIMIT ?");
  statement.bind(1, task);
  statement.bind(2, limit);
  std::vector<std::string> entries;
  while (statement.executeStep()) entries.push_back(statement.getColumn(0).getString());
  return entries;
}

}  // namespace train
