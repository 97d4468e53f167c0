// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/journal/search_record.hpp"
#include "launcher/record/recorded_event.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/report_page/task_report.hpp"

namespace train {

/// What is on record of a task.
struct ReportSource {
  const TaskRecord& task;
  const std::vector<RecordedEvent>& events;
  const SearchRecord* search = nullptr;  ///< null: the task is not a search, or not readable
  const ExperimentConfig* experiment = nullptr;  ///< null: not known
  std::string news;                              ///< lines about its present state; may be empty
};

/// The page about a task at this moment, without its logs and the reports of its ranks. Links of
/// tables lead to the logs that `logs` has.
TaskReport task_report_of(const ReportSource& source, std::vector<ReportLog> logs, UnixMillis now);

}  // namespace train
