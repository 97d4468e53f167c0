// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

// What is kept beside the record of a task about its hosts, for whoever has to go there when its
// launcher is gone.

/// Writes how the hosts of a task are reached. Their paths are relative to its working directory.
Result<void> keep_task_hosts(const SqliteTaskStore& store, const std::string& task_id,
                             const std::vector<Host>& hosts, const std::string& working_directory);
/// The same again, in the same order.
Result<std::vector<Host>> read_task_hosts(const SqliteTaskStore& store, const std::string& task_id);

/// Where a rank of a task runs, or ran.
struct RankHost {
  Host host;
  std::string key;         ///< of the agent there
  bool has_ended = false;  ///< the trial of a search whose rank it is
};
/// Of a search the rank of a trial, where that runs, or ran last. Class `no_input` where the task
/// has no such rank or trial, or it is not on record how its host is reached; `usage` where a
/// search is given no trial.
Result<RankHost> read_rank_host(SqliteTaskStore& store, const TaskRecord& task,
                                std::optional<int> trial, int rank);

/// Writes on which hosts of a task that has ended, or is about to, something of it may be left:
/// numbers, in the order of `keep_task_hosts`.
Result<void> keep_unsettled_hosts(const SqliteTaskStore& store, const std::string& task_id,
                                  const std::set<int>& unsettled);
/// The same again; all hosts of a task whose launcher died before it could say so.
std::set<int> read_unsettled_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                                   std::size_t hosts);
/// Their names, of a task that has ended; none while it goes on, or where nobody knows any more.
std::vector<std::string> names_of_unsettled_hosts(const SqliteTaskStore& store,
                                                  const TaskRecord& task);

}  // namespace train
