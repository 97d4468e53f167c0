// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/logs/merged_logs.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Which output of a task is shown.
struct TaskViewing {
  MergedLogs::Choice choice;
  bool follow = false;  ///< continues with new output until the attempt is over
  /// Only this trial; the task was reduced to it with `only_trial`.
  std::optional<int> trial = {};
  MergedLogs::Sink sink = pass_on;
  /// With `follow`: called about once a second, and whenever there is new output.
  std::function<void(const MergedLogs& logs)> on_look = nullptr;
  /// Called before anything but output is printed.
  std::function<void()> on_end = [] {};
};

/// Prints the output of one attempt. If the attempt may still print and `follow` is set, continues
/// until it is over or the task is unattended; `task` is then updated to its record. False when the
/// reader is gone.
Result<bool> print_attempt(const TaskViewing& viewing, SqliteTaskStore& store, TaskRecord& task,
                           int attempt);

/// The height of the screen in lines, minus those that describe the view.
std::uint64_t screen_lines();

}  // namespace train
