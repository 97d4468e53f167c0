// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/journal/journal_entry.hpp"
#include "launcher/record/recorded_event.hpp"

namespace train {

/// The events of a task in the order in which they were written: its launch, the entries of its
/// journal (which may be of any kind), and its end if only the record has one. Times are wall-clock
/// times as set then; a recorded end has the time of the record. Entries without a wall-clock time
/// are dated by the record of their attempt, if at all.
std::vector<RecordedEvent> recorded_events(const TaskRecord& task,
                                           const std::vector<JournalEntry>& journal);

}  // namespace train
