// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/live/held_tasks.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Tasks as a table with a heading, one row each; control characters in names are escaped. `held`
/// are tasks without a record here.
std::string tasks_to_table(const std::vector<TaskRecord>& tasks, UnixMillis now,
                           const std::vector<HeldTask>& held = {});

/// The same columns as RFC 4180 CSV with a heading; times are milliseconds since the Unix epoch.
std::string tasks_to_csv(const std::vector<TaskRecord>& tasks, UnixMillis now,
                         const std::vector<HeldTask>& held = {});

/// "", or " for 57.3s at most": the remaining time of the ranks of an unattended task.
std::string time_left_text(const TaskRecord& task);

/// How long a task has run or ran; for a lost task ">=12.3s", because its end was not observed.
std::string elapsed_text(const TaskRecord& task, UnixMillis now);
/// "2026-11-24 14:20:37", in the time zone of this process.
std::string local_time(UnixMillis instant);
/// Comma-separated host names of records in short form: "node[01-16]"; not escaped.
std::string summarized_names(const std::string& names);

/// The wall clock time, for `now`.
UnixMillis now_on_the_wall();

}  // namespace train
