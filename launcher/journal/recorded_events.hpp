// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/journal/journal.hpp"
#include "launcher/record/recorded_event.hpp"

namespace train {

/// What has happened to a task, in the order in which it was written down: its launch, the entries
/// of its journal, which may be any, and its end where only the record has that. Times are of the
/// wall clock as it was set then, of an end that is recorded those of the record; of entries
/// without one, as earlier versions wrote them, it is what their boot, or the record of their
/// attempt, tells.
std::vector<RecordedEvent> recorded_events(const TaskRecord& task,
                                           const std::vector<JournalEntry>& journal);

}  // namespace train
