// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config_schema/allocation/slurm_queue.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/task/job_note.hpp"

namespace train {

/// A task in a job of Slurm that has not ended.
struct ListedJob {
  JobNote note;
  QueuedJob job;
};

/// All that this machine has submitted, as Slurm says now, and why it does not say it; empty: it
/// does. Asks nothing where there are no notes. A note is dropped once its job has ended and its
/// task `is_recorded` here.
struct ListedJobs {
  std::vector<ListedJob> jobs;
  TerminalText trouble;
};
ListedJobs list_jobs(const std::function<bool(const std::string& task)>& is_recorded);

/// What is known of its task where the record is not: waiting or running.
TaskRecord record_of(const ListedJob& listed);

/// "task k3wq is job 12 of Slurm: it waits for its turn (Priority)".
TerminalText words_of(const ListedJob& listed);

}  // namespace train
