// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/journal/journal.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// As much of a task's plan as it takes to stop the task: its hosts and ranks, and what its agents
/// were told of graces and of launchers that die. From its record, its hosts in rank order, and its
/// journal; no rank can be started with it. An error of class `no_input` where a rank is on none of
/// these hosts.
Result<Plan> stopping_plan(const TaskRecord& task, const std::vector<Host>& hosts,
                           const std::vector<JournalEntry>& journal);

/// What takes the place of a journal that is damaged: as much as it takes to stop the last attempt
/// that the task's record has, as another boot would have written it. `epoch` is above that of
/// every supervisor that the task has had.
std::vector<JournalEntry> stopping_journal(const TaskRecord& task, std::uint64_t epoch);

}  // namespace train
