// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/live/held_tasks.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Tasks as a table with a heading, one row each; control characters of names are escaped. `held`
/// are those that have no record here.
std::string tasks_to_table(const std::vector<TaskRecord>& tasks, UnixMillis now,
                           const std::vector<HeldTask>& held = {});

/// The same columns as RFC 4180 CSV with a heading; times are milliseconds since the Unix epoch.
std::string tasks_to_csv(const std::vector<TaskRecord>& tasks, UnixMillis now,
                         const std::vector<HeldTask>& held = {});

/// One task for people: what, where, how it went, each rank. `news` are lines about how it is at
/// this moment.
std::string task_to_text(const TaskRecord& task, UnixMillis now, const std::string& news = {});

/// "12.3s", "4m05s", "2h03m", "3d04h".
std::string format_duration(UnixMillis duration);

/// The wall clock, for `now`.
UnixMillis now_on_the_wall();
/// When this machine was booted, by that clock: what compares instants of different boots.
milliseconds booted_on_the_wall();

}  // namespace train
