// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/task_look.hpp"

#include <unistd.h>

#include <utility>

#include "cli/record/task_hosts.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/show/task_events.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/supervisor/task_end.hpp"

namespace train {

Result<TaskLook> look_at(SqliteTaskStore& store, const std::string& name) {
  auto task = store.find(name);
  if (!task) return tl::make_unexpected(task.error());
  Result<std::optional<ControlStatus>> now;
  if (!is_final(task->state)) now = ask_now(store.control_socket(task->id));
  // No supervisor answers: the task may have ended, or lost its launcher, since it was looked up.
  if (now && !*now && !is_final(task->state)) task = find_unanswered(store, task->id);
  if (!task) return tl::make_unexpected(task.error());
  task->unsettled_hosts = names_of_unsettled_hosts(store, *task);
  if (now && *now) take_usage(*task, **now);
  TaskLook look{std::move(*task), std::move(now)};
  look.events = events_of(store, look.task);
  look.search = search_of_task(store, look.task);
  std::string hang_file = store.hang_file(look.task.id);
  if (::access(hang_file.c_str(), F_OK) == 0) look.hang_file = std::move(hang_file);
  return look;
}

}  // namespace train
