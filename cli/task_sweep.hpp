// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/exit_code.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// Keeps beside the record of a task how its hosts are reached, for `sweep_lost_task`.
Result<void> keep_task_hosts(const SqliteTaskStore& store, const TaskRecord& task,
                             const std::vector<Host>& hosts);

/// `train task kill` of a task whose launcher died: goes to its hosts, ends what a dead agent has
/// left there, and says what was found. Code 75 where agents still do that themselves, 76 where a
/// host does not answer or a process cannot be killed.
ExitCode sweep_lost_task(const SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
