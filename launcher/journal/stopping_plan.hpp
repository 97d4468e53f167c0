// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The part of a task's plan that is needed to stop the task: its hosts and ranks, and the times
/// for stopping and for a dead launcher that its agents were told. It is made from the task's
/// record, its hosts in rank order, and its journal; no rank can be started with it. An error of
/// class `no_input` if a rank is on none of these hosts.
Result<Plan> stopping_plan(const TaskRecord& task, const std::vector<Host>& hosts,
                           const std::vector<JournalEntry>& journal);

/// Replaces a damaged journal: the entries that are needed to stop the last attempt in the task's
/// record, as if written in another boot. `epoch` must be higher than that of every earlier
/// supervisor of the task.
std::vector<JournalEntry> stopping_journal(const TaskRecord& task, std::uint64_t epoch);

}  // namespace train
