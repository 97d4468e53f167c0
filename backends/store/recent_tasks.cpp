// SPDX-License-Identifier: Apache-2.0
#include "backends/store/recent_tasks.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include "backends/store/task_reader.hpp"

namespace train {

std::vector<RecentTask> recent_tasks(const std::string& root, std::size_t most) {
  constexpr int wait_ms = 20;
  std::vector<RecentTask> tasks;
  try {
    SQLite::Database database(root + "/tasks.db", SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                              wait_ms);
    SQLite::Statement select(database,
                             "SELECT id, name, state FROM task ORDER BY created DESC, id LIMIT ?");
    select.bind(1, static_cast<std::int64_t>(most));
    while (select.executeStep()) {
      const std::string id = select.getColumn(0).getString();
      const auto state = task_state_from_string(select.getColumn(2).getString());
      if (state && is_task_id(id)) tasks.push_back({id, select.getColumn(1).getString(), *state});
    }
  } catch (const SQLite::Exception&) {
    // The rows before a damaged one are of use.
  }
  return tasks;
}

}  // namespace train
