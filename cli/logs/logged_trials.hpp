// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The trials that have log folders in the log directory of a task, in order. Empty if the task has
/// one trial, or if the directory cannot be read.
std::vector<int> logged_trials(const std::string& log_directory);

/// The task reduced to this trial: its log directory, ranks and attempts are those that the trial
/// has logs of; nothing else about them is known. A task without trial folders is returned
/// unchanged, as trial 0. Fails with class `usage` if it has trial folders and no trial is given,
/// with `no_input` if it has no logs of that trial.
Result<TaskRecord> only_trial(TaskRecord task, std::optional<int> trial);

}  // namespace train
