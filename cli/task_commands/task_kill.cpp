// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <set>

#include "backends/posix/files.hpp"
#include "cli/commands/flags.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/damaged_tasks.hpp"
#include "cli/task_commands/several_tasks.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/task_commands/task_stop.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

struct TaskKillFlags {
  std::vector<std::string> tasks;
  bool all = false;  ///< all running tasks instead
  std::string signal = "TERM";
  /// Ends only this trial of the one task, and does not wait for its end.
  std::optional<int> trial;
};

Result<int> signal_of(const std::string& name) {
  std::string upper = to_upper(name);
  if (upper.starts_with("SIG")) upper.erase(0, 3);
  if (upper == "INT") return SIGINT;
  if (upper == "TERM") return SIGTERM;
  if (upper == "HUP") return SIGHUP;
  return fail(ErrorClass::usage, fmt::format("--signal does not know '{}'", name),
              "a task is stopped by INT, TERM or HUP; its ranks are told by TERM, then by KILL");
}

// In a child process: stopping may execute another build of train, and changes the process. The
// children run one after the other, because they share the terminal for passphrases.
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

// All running tasks are told to stop before the first is waited for.
ExitCode stop_all(const std::vector<TaskRecord>& tasks, int signal, Outcomes outcomes) {
  std::vector<RequestedStop> told;
  std::vector<std::string> others;
  {
    auto store = open_task_store();
    if (!store) return report(store.error());
    for (const TaskRecord& task : tasks) {
      if (task.is_unattended || is_final(task.state)) {
        others.push_back(task.id);
        continue;
      }
      auto one = request_stop(**store, task, signal);
      if (one)
        told.push_back(std::move(*one));
      else
        others.push_back(task.id);  // it may have ended meanwhile
    }
  }
  // The store is closed here: it must not be open across a fork.
  for (const std::string& id : others) outcomes.add(stop_in_child(id, signal));
  for (const RequestedStop& each : told) {
    const auto code = await_end(each);
    outcomes.add(code ? *code : stop_in_child(each.task.id, signal));
  }
  return outcomes.report_all(unstopped);
}

ExitCode stop_every_task(int signal) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto list = (*store)->list(false);
  if (!list) return report(list.error());
  store->reset();
  Outcomes outcomes;
  report_damaged(list->damaged, outcomes);
  if (list->tasks.empty()) {
    talk(terminal_text("no {}task runs", list->damaged.empty() ? "" : "other "));
    return outcomes.report_all(unstopped);
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

// Returns nothing if the task has a launcher that can be asked.
std::optional<ExitCode> report_without_supervisor(const TaskRecord& task) {
  if (task.is_unattended) return report_unattended(task);
  if (!is_final(task.state)) return std::nullopt;
  return report(make_error(ErrorClass::no_input,
                           fmt::format("task {} has ended already, with all its trials: {}",
                                       task.id, to_string(task.state)),
                           fmt::format("train task show {} says how", task.id)));
}

// The error for a live launcher that does not answer.
Error unanswered_error(const TaskRecord& task) {
  if (task.state == TaskState::waiting)
    return make_error(ErrorClass::busy,
                      fmt::format("task {} waits for slots, and has no trials yet", task.id),
                      fmt::format("train task kill {} ends its wait", task.id));
  return make_error(ErrorClass::busy,
                    fmt::format("the launcher of task {} does not take requests", task.id),
                    fmt::format("it may take them in a moment, when it has begun; train task kill "
                                "{} stops all of it",
                                task.id));
}

ExitCode report_killed(const std::string& task_id, int trial, TrialState state) {
  const bool has_run = state == TrialState::stopping;
  talk(terminal_text("trial {} of task {} is {}; the search goes on", trial, task_id,
                     has_run ? "told to stop" : "ended before it began"));
  return ExitCode();
}

ExitCode kill_trial(const std::string& prefix, int trial) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(prefix);
  if (!task) return report(task.error());
  if (const auto code = report_without_supervisor(*task)) return *code;
  const std::string id = task->id;
  const auto state = kill_trial_through((*store)->control_socket(id), trial);
  if (!state) {
    Error why = with_context(state.error(), fmt::format("task {}", id));
    if (why.error_class == ErrorClass::no_input)
      why = with_hints(std::move(why), {fmt::format("train task kill {} stops all of it", id)});
    return report(why);
  }
  if (*state) return report_killed(id, trial, **state);
  // The task may have ended, or lost its launcher, since it was looked up.
  task = (*store)->find(id);
  if (!task) return report(task.error());
  const auto code = report_without_supervisor(*task);
  return code ? *code : report(unanswered_error(*task));
}

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
  if (flags.trial && flags.tasks.size() > 1)
    return report(make_error(ErrorClass::usage, "--trial was given with several tasks",
                             "it is of one task: name that alone"));
  if (flags.trial) return kill_trial(flags.tasks.front(), *flags.trial);
  if (flags.tasks.size() == 1) return stop_task(flags.tasks.front(), *signal);
  return stop_these(flags.tasks, *signal);
}

}  // namespace

void add_task_kill(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskKillFlags>();
  CLI::App* kill =
      task.add_subcommand("kill", "Stop tasks and wait for their ends")->group("Commands");
  add_task_names(*kill, flags->tasks, value_kind::unfinished_task);
  auto* all =
      kill->add_flag("--all", flags->all,
                     "All tasks of this user that run or are unattended; says which they are");
  auto* signal =
      kill->add_option("--signal", flags->signal, "The reason: TERM (default), INT or HUP")
          ->type_name("NAME")
          ->check(names("signal", kind_of_words({"TERM", "INT", "HUP"})));
  kill->add_option("--trial", flags->trial,
                   "Only this trial (0 is the first) of a search, which goes on")
      ->type_name("N")
      ->check(whole_number(0, highest_trial))
      ->excludes(all)
      ->excludes(signal);
  kill->footer(
      "Examples:\n"
      "  train task kill k3wq\n"
      "  train task kill k3wq --trial 2\n"
      "  train task kill --all --signal INT");
  kill->callback([&choice, flags] { choice.run = [flags] { return task_kill_command(*flags); }; });
}

}  // namespace train
