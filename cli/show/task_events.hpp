// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/record/recorded_event.hpp"

namespace train {

/// What has happened to a task, as its record and its journal have it. Entries of the journal that
/// cannot be read are left out, which is said on stderr.
std::vector<RecordedEvent> events_of(SqliteTaskStore& store, const TaskRecord& task);

}  // namespace train
