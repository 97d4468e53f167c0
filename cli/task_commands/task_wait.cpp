// SPDX-License-Identifier: Apache-2.0
#include "backends/log/task_watch.hpp"
#include "backends/store/task_lock.hpp"
#include "cli/commands/flags.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

struct TaskWaitFlags {
  std::string task;
};

ExitCode task_wait_command(const TaskWaitFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const std::string lock_file = (*store)->lock_file(task->id);
  TaskWatch watch(lock_file, "");
  while (!is_final(task->state)) {
    if (task->is_unattended) return report_unattended(*task);
    (void)watch.wait(TaskWatch::longest_silence, {});
    // The record is final only when the launcher has released its lock.
    if (probe_task_lock(lock_file) == TaskLockState::alive) continue;
    task = (*store)->find(task->id);
    if (!task) return report(task.error());
  }
  return report_end(*task);
}

}  // namespace

void add_task_wait(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskWaitFlags>();
  CLI::App* wait = task.add_subcommand("wait", "Wait for the end of a task, and exit as it did")
                       ->group("Commands");
  add_task_name(*wait, flags->task, value_kind::unfinished_task);
  wait->footer(
      "Examples:\n"
      "  train task wait k3wq");
  wait->callback([&choice, flags] { choice.run = [flags] { return task_wait_command(*flags); }; });
}

}  // namespace train
