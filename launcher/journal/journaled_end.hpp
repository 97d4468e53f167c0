// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/journal/journal_entry.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Gives the task the end that its journal records, at the time `ended`: for a launcher that died
/// after writing the end to the journal and before recording it in the task. The ends of single
/// ranks are then unknown. False, with nothing changed, if the journal has no end.
bool end_by_journal(TaskRecord& task, const std::vector<JournalEntry>& journal, UnixMillis ended);

}  // namespace train
