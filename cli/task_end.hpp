// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/exit_code.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Says how a task has ended, and returns what its launch has returned, or would have.
ExitCode tell_end(const TaskRecord& task);

/// Says that nobody attends a task, and how to go on with it: code 75.
ExitCode tell_unattended(const TaskRecord& task);

}  // namespace train
