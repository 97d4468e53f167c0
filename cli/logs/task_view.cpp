// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/task_view.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "backends/log/task_watch.hpp"
#include "backends/store/task_lock.hpp"
#include "cli/logs/logged_trials.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

std::uint64_t screen_lines() {
  constexpr int usual = 24;
  winsize size{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2;
  return static_cast<std::uint64_t>((is_known ? size.ws_row : usual) - 2);
}

namespace {

std::chrono::milliseconds longest_wait(const TaskViewing& viewing, const MergedLogs& logs) {
  if (logs.holds_lines()) return LineFolder::hold / 3;
  return viewing.on_look ? std::chrono::milliseconds(1'000) : TaskWatch::longest_silence;
}

}  // namespace

Result<bool> print_attempt(const TaskViewing& viewing, SqliteTaskStore& store, TaskRecord& task,
                           int attempt) {
  const std::string lock_file = store.lock_file(task.id);
  TaskWatch watch(lock_file, task.log_directory);
  const std::string next_file = rank_log_file(task.log_directory, 0, attempt + 1);
  MergedLogs logs(task, attempt, viewing.choice);
  if (const auto begun = logs.begin(); !begun) return tl::make_unexpected(begun.error());
  while (true) {
    // Reads the state before the logs: if the task has ended, its logs are complete.
    const bool has_ended = is_final(task.state) || attempt < task.restarts;
    const bool is_complete = !viewing.follow || has_ended || task.is_unattended;
    auto printed = logs.print_new(viewing.sink);
    if (is_complete) viewing.on_end();
    if (printed && *printed && is_complete) printed = logs.print_end(viewing.sink, has_ended);
    // A reader that is gone is no failure.
    if (!printed || !*printed || is_complete) return printed;
    if (viewing.on_look) viewing.on_look(logs);
    if (watch.wait(longest_wait(viewing, logs), {STDOUT_FILENO, false})) return false;
    // The record is final only when the launcher has released its lock; it also changes when
    // another attempt begins.
    if (::access(next_file.c_str(), F_OK) != 0 &&
        probe_task_lock(lock_file) == TaskLockState::alive)
      continue;
    auto found = store.find(task.id);
    if (found && viewing.trial) found = only_trial(std::move(*found), viewing.trial);
    if (!found) return tl::make_unexpected(found.error());
    task = std::move(*found);
  }
}

}  // namespace train
