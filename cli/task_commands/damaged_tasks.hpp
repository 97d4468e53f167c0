// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/task_commands/several_tasks.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/task_store.hpp"

namespace train {

/// What a list of tasks is without, for the user; not of an empty list.
Error damage_error(const std::vector<DamagedTask>& damaged);

/// Says so, if there are any, and counts them among what a command was about.
void tell_damaged(const std::vector<DamagedTask>& damaged, Outcomes& outcomes);

}  // namespace train
