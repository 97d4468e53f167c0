// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/journal/search_record.hpp"
#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/report_page/task_report.hpp"

namespace train {

/// The attempts of a task, each in a row, from the recorded times: starting, running, being
/// stopped; and before them how long the task has waited. What has not ended lasts until `now`.
TimeLine time_line_of(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                      UnixMillis now);

/// The attempts of all trials of a search in one row, with a lane for as many as ran at once.
TimeLine time_line_of(const TaskRecord& task, const SearchRecord& search, UnixMillis now);

}  // namespace train
