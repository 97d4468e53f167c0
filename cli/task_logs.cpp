// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>

#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_end.hpp"
#include "cli/task_view.hpp"

namespace train {

namespace {

// Which attempts are shown, one after the other; of a task that runs more may come.
struct Shown {
  int first = 0;
  int last = 0;
};

Result<Shown> attempts_of(const TaskLogsFlags& flags, const TaskRecord& task) {
  if (flags.attempt.empty()) return Shown{task.restarts, task.restarts};
  if (flags.attempt == "all") return Shown{0, task.restarts};
  const int attempt = std::stoi(flags.attempt);
  if (attempt <= task.restarts) return Shown{attempt, attempt};
  return fail(ErrorClass::no_input,
              task.restarts == 0
                  ? fmt::format("task {} has no attempt {}: it was not restarted", task.id, attempt)
                  : fmt::format("task {} has no attempt {}: its attempts are 0 to {}", task.id,
                                attempt, task.restarts));
}

}  // namespace

ExitCode task_logs_command(const TaskLogsFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);  // `train task logs X | head` is no failure
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  auto shown = attempts_of(flags, *task);
  if (!shown) return report(shown.error());
  for (int attempt = shown->first; attempt <= shown->last; ++attempt) {
    if (attempt > shown->first || flags.attempt == "all")
      talk(terminal_text("attempt {}", attempt));
    const auto printed = print_attempt({flags.rank, flags.follow}, **store, *task, attempt);
    if (!printed) return report(printed.error());
    if (!*printed) return ExitCode();
    // Who follows a task follows it into its next attempts.
    const bool is_one = !flags.attempt.empty() && flags.attempt != "all";
    if (flags.follow && !is_one) shown->last = task->restarts;
  }
  if (flags.follow && task->is_unattended) return tell_unattended(*task);
  return ExitCode();
}

}  // namespace train
