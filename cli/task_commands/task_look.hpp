// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/control/control_talk.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/record/recorded_event.hpp"

namespace train {

/// All known facts about a task at one moment.
struct TaskLook {
  TaskRecord task;
  Result<std::optional<ControlStatus>> now;  ///< what its launcher says, if it has not ended
  std::vector<RecordedEvent> events = {};
  Result<std::optional<SearchRecord>> search = std::nullopt;
  std::string hang_file = {};  ///< what its ranks did when they hung; empty: they never did

  bool is_search() const { return search && *search; }
};

/// Looks up a task by the beginning of its id, and asks its launcher. Class `no_input` if no task
/// or several match.
Result<TaskLook> look_at(SqliteTaskStore& store, const std::string& name);

}  // namespace train
