// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/task_commands/several_tasks.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/task_store.hpp"

namespace train {

/// The error that describes which tasks are missing from a list; `damaged` must not be empty.
Error damage_error(const std::vector<DamagedTask>& damaged);

/// Reports damaged tasks, if there are any, and counts them among the outcomes of a command.
void report_damaged(const std::vector<DamagedTask>& damaged, Outcomes& outcomes);

}  // namespace train
