// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/damaged_rows.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <string_view>

#include "backends/registry/registry.hpp"

namespace train {

namespace {

/// Adds the rows in this order, up to the first damage.
void add_rows(SQLite::Database& database, std::string_view from_and_order,
              std::map<std::int64_t, std::string>& rows) {
  try {
    SQLite::Statement select(database, fmt::format("SELECT rowid, {}", from_and_order));
    while (select.executeStep()) {
      std::string& id = rows[select.getColumn(0).getInt64()];
      if (id.empty()) id = select.getColumn(1).getString();
    }
  } catch (const SQLite::Exception& exception) {
    if (!is_damage(exception)) throw;
  }
}

}  // namespace

// The indexes hold all columns that these queries select: the table is not read through them.
std::map<std::int64_t, std::string> rows_left(SQLite::Database& database) {
  std::map<std::int64_t, std::string> rows;
  for (const std::string_view order : {"ASC", "DESC"}) {
    for (const std::string_view from :
         {"id FROM task INDEXED BY sqlite_autoindex_task_1 ORDER BY id",
          "id FROM task NOT INDEXED ORDER BY rowid",
          "'' FROM task INDEXED BY task_by_age ORDER BY created"})
      add_rows(database, fmt::format("{} {}", from, order), rows);
  }
  return rows;
}

}  // namespace train
