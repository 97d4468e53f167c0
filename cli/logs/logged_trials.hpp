// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The trials that have folders of logs in the log directory of a task, in order. None where the
/// task has one trial, nor where the directory cannot be read.
std::vector<int> logged_trials(const std::string& log_directory);

/// The task as if this trial were all of it: its log directory, ranks and attempts are those that
/// the trial has logs of, and no more is known of them. A task without folders of trials stays what
/// it is, as trial 0. Fails with class `usage` when it has some and no trial is given, with
/// `no_input` when it has no logs of that trial.
Result<TaskRecord> only_trial(TaskRecord task, std::optional<int> trial);

}  // namespace train
