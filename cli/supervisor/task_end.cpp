// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/task_end.hpp"

#include <algorithm>

#include "backends/log/task_watch.hpp"
#include "backends/store/task_lock.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/show/task_table.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

// If the supervisor died before it could record an exit code, the code is derived from the error
// class.
ExitCode exit_code_of(const TaskRecord& task) {
  if (task.state == TaskState::succeeded) return ExitCode();
  if (task.exit_code) return ExitCode(*task.exit_code);
  for (const ErrorClass error_class : {ErrorClass::missing, ErrorClass::host, ErrorClass::config,
                                       ErrorClass::no_input, ErrorClass::worker})
    if (to_string(error_class) == task.error_class) return exit_code_of(error_class);
  return exit_code_of(ErrorClass::interrupted);
}

}  // namespace

ExitCode report_end(const TaskRecord& task) {
  const ExitCode code = exit_code_of(task);
  if (task.state == TaskState::succeeded)
    talk(terminal_text("task {}: succeeded", task.id));
  else
    talk(terminal_text("task {}: {}: {}: {} (exit {})", task.id, to_string(task.state),
                       task.error_class, task.cause, code.value()));
  return code;
}

ExitCode report_unattended(const TaskRecord& task) {
  const ExitCode code = exit_code_of(ErrorClass::busy);
  if (task.state == TaskState::stopping)
    talk(
        terminal_text("task {} is unattended: its launcher (process {}) has died while it stopped "
                      "it, and its ranks may go on{}\n"
                      "  train task kill {}    stops it",
                      task.id, task.launcher_pid, time_left_text(task), task.id));
  else
    talk(
        terminal_text("task {} is unattended: its launcher (process {}) has died, and its ranks "
                      "may go on{}\n"
                      "  train task attach {}    goes on with it\n"
                      "  train task kill {}      stops it",
                      task.id, task.launcher_pid, time_left_text(task), task.id, task.id));
  talk(verdict(ErrorClass::busy, code));
  return code;
}

bool await_release(const std::string& lock_file, std::chrono::steady_clock::time_point deadline,
                   int supervisor) {
  using std::chrono::milliseconds;
  TaskWatch watch(lock_file, "");
  while (probe_task_lock(lock_file) != TaskLockState::gone) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return false;
    // Without a process descriptor, the lock is polled.
    constexpr milliseconds look{1'000};
    if (supervisor < 0)
      (void)watch.wait(std::min(left, look), {});
    else if (watch.wait(left, {supervisor}))
      return true;
  }
  return true;
}

Result<void> end_left_task(const std::string& task_id, TaskState state, ErrorClass error_class,
                           const std::string& cause) {
  auto store = open_task_store();
  if (!store) return tl::make_unexpected(store.error());
  if (auto adopted = (*store)->adopt(task_id); !adopted) return adopted;
  auto task = (*store)->find(task_id);
  if (!task) return tl::make_unexpected(task.error());
  task->state = state;
  task->ended = now_on_the_wall();
  task->error_class = to_string(error_class);
  task->cause = cause;
  task->exit_code = exit_code_of(error_class).value();
  end_last_attempt(*task);
  if (auto kept = keep_unsettled_hosts(**store, task_id, {}); !kept) return kept;
  return (*store)->update(*task);
}

Result<TaskRecord> find_unanswered(SqliteTaskStore& store, const std::string& task_id) {
  constexpr std::chrono::seconds time_to_die{1};
  (void)await_release(store.lock_file(task_id), std::chrono::steady_clock::now() + time_to_die);
  return store.find(task_id);
}

}  // namespace train
