// SPDX-License-Identifier: Apache-2.0
#include "backends/log/task_watch.hpp"
#include "backends/store/launcher_lock.hpp"
#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"

namespace train {

namespace {

// How long to wait at most, without any event, before the launcher is looked at again.
constexpr std::chrono::milliseconds longest_silence{2'000};

// Of a task whose launcher died without a word, its class tells the code.
ExitCode exit_code_of(const TaskRecord& task) {
  if (task.state == TaskState::succeeded) return ExitCode();
  if (task.exit_code) return ExitCode(*task.exit_code);
  return exit_code_of(ErrorClass::interrupted);
}

void tell_end(const TaskRecord& task, ExitCode code) {
  if (task.state == TaskState::succeeded) return talk(terminal_text("task {}: succeeded", task.id));
  talk(terminal_text("task {}: {}: {}: {} (exit {})", task.id, to_string(task.state),
                     task.error_class, task.cause, code.value()));
}

}  // namespace

ExitCode task_wait_command(const TaskWaitFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const std::string lock_file = (*store)->lock_file(task->id);
  TaskWatch watch(lock_file, "");
  while (!is_final(task->state)) {
    (void)watch.wait(longest_silence, {});
    // The record is final when the launcher has let go of its lock, and not before.
    if (probe_launcher(lock_file) == LauncherSign::alive) continue;
    task = (*store)->find(task->id);
    if (!task) return report(task.error());
  }
  const ExitCode code = exit_code_of(*task);
  tell_end(*task, code);
  return code;
}

}  // namespace train
