// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "backends/posix/files.hpp"
#include "cli/commands.hpp"
#include "cli/damaged_tasks.hpp"
#include "cli/several_tasks.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_stop.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

Result<int> signal_of(const std::string& name) {
  std::string upper = to_upper(name);
  if (upper.starts_with("SIG")) upper.erase(0, 3);
  if (upper == "INT") return SIGINT;
  if (upper == "TERM") return SIGTERM;
  if (upper == "HUP") return SIGHUP;
  return fail(ErrorClass::usage, fmt::format("--signal does not know '{}'", name),
              "a task is stopped by INT, TERM or HUP; its ranks are told by TERM, then by KILL");
}

// In a process of its own: to stop it may take another program, and changes this one. The terminal
// stays, for passphrases, so they follow each other.
ExitCode stop_in_child(const std::string& task_id, int signal) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(stop_task(task_id, signal).value());
  if (child < 0)
    return report(make_error(
        ErrorClass::host, fmt::format("task {} is not stopped: no process can be made: {}", task_id,
                                      system_reason(errno))));
  int status = 0;
  if (uninterrupted([&] { return ::waitpid(child, &status, 0); }) != child || !WIFEXITED(status))
    return report(make_error(ErrorClass::bug,
                             fmt::format("the process that stops task {} has died", task_id)));
  return ExitCode(WEXITSTATUS(status));
}

constexpr std::string_view unstopped = "could not be stopped, or may have left something";

// All that run are told before any is waited for.
ExitCode stop_all(const std::vector<TaskRecord>& tasks, int signal, Outcomes outcomes) {
  std::vector<ToldToStop> told;
  std::vector<std::string> others;
  {
    auto store = open_task_store();
    if (!store) return report(store.error());
    for (const TaskRecord& task : tasks) {
      if (task.is_unattended || is_final(task.state)) {
        others.push_back(task.id);
        continue;
      }
      auto one = tell_to_stop(**store, task, signal);
      if (one)
        told.push_back(std::move(*one));
      else
        others.push_back(task.id);  // it may have ended meanwhile
    }
  }
  // The store is closed: it must not go through a fork.
  for (const std::string& id : others) outcomes.add(stop_in_child(id, signal));
  for (const ToldToStop& each : told) outcomes.add(await_end(each));
  return outcomes.tell(unstopped);
}

ExitCode stop_every_task(int signal) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto list = (*store)->list(false);
  if (!list) return report(list.error());
  store->reset();
  Outcomes outcomes;
  tell_damaged(list->damaged, outcomes);
  if (list->tasks.empty()) {
    talk(terminal_text("no {}task runs", list->damaged.empty() ? "" : "other "));
    return outcomes.tell(unstopped);
  }
  std::vector<std::string> ids;
  ids.reserve(list->tasks.size());
  for (const TaskRecord& task : list->tasks) ids.push_back(task.id);
  talk(terminal_text("stopping {}: {}", counted(static_cast<std::int64_t>(ids.size()), "task"),
                     fmt::format("{}", fmt::join(ids, ", "))));
  return stop_all(list->tasks, signal, outcomes);
}

ExitCode stop_these(const std::vector<std::string>& prefixes, int signal) {
  Outcomes outcomes;
  std::vector<TaskRecord> tasks;
  std::set<std::string> ids;
  auto store = open_task_store();
  if (!store) return report(store.error());
  for (const std::string& prefix : prefixes) {
    auto task = (*store)->find(prefix);
    if (!task)
      outcomes.add(report(task.error()));
    else if (ids.insert(task->id).second)
      tasks.push_back(std::move(*task));
  }
  store->reset();
  return stop_all(tasks, signal, outcomes);
}

}  // namespace

ExitCode task_kill_command(const TaskKillFlags& flags) {
  const auto signal = signal_of(flags.signal);
  if (!signal) return report(signal.error());
  if (flags.all && !flags.tasks.empty())
    return report(make_error(ErrorClass::usage, "tasks and --all were both given",
                             "name tasks, or stop all that run"));
  if (flags.all) return stop_every_task(*signal);
  if (flags.tasks.empty())
    return report(make_error(ErrorClass::usage, "no task is named",
                             "give ids from 'train task list', or --all to stop all that run"));
  if (flags.tasks.size() == 1) return stop_task(flags.tasks.front(), *signal);
  return stop_these(flags.tasks, *signal);
}

}  // namespace train
