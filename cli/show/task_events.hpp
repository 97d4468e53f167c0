// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/record/recorded_event.hpp"

namespace train {

/// The events of a task, from its record and its journal. Journal entries that cannot be read are
/// left out, with a message on stderr.
std::vector<RecordedEvent> events_of(SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
