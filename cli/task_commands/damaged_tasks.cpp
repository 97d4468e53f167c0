// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/damaged_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "cli/terminal/talk.hpp"

namespace train {

Error damage_error(const std::vector<DamagedTask>& damaged) {
  Error error{ErrorClass::no_input, {}};
  for (const DamagedTask& task : damaged)
    error.diagnostics.push_back(
        {.place = {},
         .key = {},
         .message = fmt::format("the task registry is damaged: {}", task.why),
         .hint = task.next_step});
  return error;
}

void report_damaged(const std::vector<DamagedTask>& damaged, Outcomes& outcomes) {
  if (damaged.empty()) return;
  talk(terminal_text(damage_error(damaged)));
  // An unreadable part without an id may not be a task.
  const auto named = std::count_if(damaged.begin(), damaged.end(),
                                   [](const DamagedTask& task) { return !task.id.empty(); });
  for (std::ptrdiff_t i = 0; i < std::max<std::ptrdiff_t>(named, 1); ++i)
    outcomes.add(exit_code_of(ErrorClass::no_input));
}

}  // namespace train
