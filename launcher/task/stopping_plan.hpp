// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/task/journal.hpp"

namespace train {

/// As much of a task's plan as it takes to stop the task: its hosts and ranks, and what its agents
/// were told of graces and of launchers that die. From its record, its hosts in rank order, and its
/// journal; no rank can be started with it. An error of class `no_input` where a rank is on none of
/// these hosts.
Result<Plan> stopping_plan(const TaskRecord& task, const std::vector<Host>& hosts,
                           const std::vector<JournalEntry>& journal);

}  // namespace train
