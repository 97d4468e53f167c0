// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

// Files beside the record of a task about its hosts, for processes that must reach them after its
// launcher is gone.

/// Writes how the hosts of a task are reached. Relative paths in them refer to the task's working
/// directory.
Result<void> keep_task_hosts(const SqliteTaskStore& store, const std::string& task_id,
                             const std::vector<Host>& hosts, const std::string& working_directory);
/// Reads what `keep_task_hosts` wrote, in the same order.
Result<std::vector<Host>> read_task_hosts(const SqliteTaskStore& store, const std::string& task_id);

/// Where a rank of a task runs or ran.
struct RankHost {
  Host host;
  std::string key;         ///< key of the agent there
  bool has_ended = false;  ///< the trial of a search that the rank belongs to has ended
};
/// The host of a rank; in a search, the host of the trial's rank where it runs or last ran. Class
/// `no_input` if the task has no such rank or trial, or if it is not recorded how its host is
/// reached; `usage` if a search is given no trial.
Result<RankHost> read_rank_host(SqliteTaskStore& store, const TaskRecord& task,
                                std::optional<int> trial, int rank);

/// Writes on which hosts of a task that has ended, or is about to, something may be left: indexes,
/// in the order of `keep_task_hosts`.
Result<void> keep_unsettled_hosts(const SqliteTaskStore& store, const std::string& task_id,
                                  const std::set<int>& unsettled);
/// Reads what `keep_unsettled_hosts` wrote; all hosts of a task whose launcher died before writing
/// it.
std::set<int> read_unsettled_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                                   std::size_t hosts);
/// The names of these hosts, for a task that has ended; empty while it runs, or if they are not
/// known any more.
std::vector<std::string> names_of_unsettled_hosts(const SqliteTaskStore& store,
                                                  const TaskRecord& task);

}  // namespace train
