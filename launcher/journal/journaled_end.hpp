// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/journal/journal.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Gives the task the end that its journal has, since `ended`: for a launcher that died after it
/// had written that down and before it could record it. What became of single ranks is not known
/// then. False, with nothing changed, where the journal has no end.
bool end_by_journal(TaskRecord& task, const std::vector<JournalEntry>& journal, UnixMillis ended);

}  // namespace train
