// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/report_page/task_report.hpp"

namespace train {

/// The logs of a page, and a sentence about what they leave out.
struct ReportLogs {
  std::vector<ReportLog> logs;
  std::string remark;
};

/// The last lines of each rank in the last attempt of a task, or of each of its trials if it is a
/// search: as much as a page shows (`log_share`). If there are too many logs, those that have
/// failed come first. A log that cannot be read has a remark in place of its lines.
/// `culprit` is the rank of the task that gets the most room; null if there is none.
ReportLogs report_logs_of(const TaskRecord& task, const SearchRecord* search,
                          const RankRecord* culprit);

/// The last lines of stderr of a rank of the task, as a terminal would show them.
std::vector<std::string> last_errors_of(const TaskRecord& task, const RankRecord& rank);

}  // namespace train
