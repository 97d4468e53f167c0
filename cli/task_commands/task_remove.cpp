// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "backends/posix/files.hpp"
#include "cli/commands/flags.hpp"
#include "cli/logs/logged_trials.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/show/task_table.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/surroundings/time_text.hpp"
#include "cli/task_commands/damaged_tasks.hpp"
#include "cli/task_commands/several_tasks.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

struct TaskRmFlags {
  std::vector<std::string> tasks;
  bool force = false;  ///< also if a host may still have something of it, or its record is damaged
};

struct TaskPruneFlags {
  std::string older_than = "7d";
  std::uint64_t keep = 0;  ///< number of newest ended tasks to keep
  bool dry_run = false;
};

// A task can be removed when nothing of it runs or may still run on a host.
Result<void> check_ended(const TaskRecord& task) {
  if (task.is_unattended)
    return fail(
        ErrorClass::busy,
        fmt::format("task {} is not removed: its launcher has died, and its ranks may go on",
                    task.id),
        fmt::format("train task kill {} ends it, train task attach {} goes on with it", task.id,
                    task.id));
  if (!is_final(task.state))
    return fail(ErrorClass::busy,
                fmt::format("task {} is not removed: it is {}", task.id, to_string(task.state)),
                fmt::format("train task kill {} stops it", task.id));
  return {};
}

Error unsettled_error(const TaskRecord& task, const std::vector<std::string>& hosts) {
  const bool is_one = hosts.size() == 1;
  return with_hints(
      make_error(ErrorClass::busy,
                 fmt::format("task {} is not removed: {} may still have something of it", task.id,
                             summarize_hosts(hosts))),
      {fmt::format("train task kill {} asks {}", task.id, is_one ? "that host" : "these hosts"),
       fmt::format("train task rm --force {} forgets {}, where {} gone for good", task.id,
                   is_one ? "it" : "them", is_one ? "it is" : "they are")});
}

std::uint64_t bytes_in(const std::string& path) {
  FolderReader folder(path);
  std::uint64_t bytes = 0;
  while (const char* name = folder ? folder.next() : nullptr) {
    struct stat status {};
    if (::fstatat(folder.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::uint64_t bytes_of_logs(const SqliteTaskStore& store, const TaskRecord& task) {
  const std::string logs = store.log_directory(task.id);
  std::uint64_t bytes = bytes_in(logs);
  for (const int trial : logged_trials(logs)) bytes += bytes_in(trial_log_directory(logs, trial));
  return bytes;
}

Result<void> check_removable(const SqliteTaskStore& store, const TaskRecord& task) {
  if (auto ended = check_ended(task); !ended) return ended;
  const auto unsettled = names_of_unsettled_hosts(store, task);
  if (unsettled.empty()) return {};
  return tl::make_unexpected(unsettled_error(task, unsettled));
}

// Removes a task whose record cannot be read.
ExitCode remove_damaged(SqliteTaskStore& store, const std::string& prefix) {
  const auto removed = store.remove_damaged(prefix);
  if (!removed) return report(removed.error());
  talk(terminal_text(
      "task {} is removed; what its hosts may still have of it is not ended any more", *removed));
  return ExitCode();
}

// With `force`, also removes a task of which a host may still have something, or whose record is
// damaged.
ExitCode remove_named(SqliteTaskStore& store, const std::string& prefix, bool force) {
  const auto task = store.find(prefix);
  if (!task && force && store.is_damaged(prefix)) return remove_damaged(store, prefix);
  if (!task) return report(task.error());
  if (const auto ended = check_ended(*task); !ended) return report(ended.error());
  const auto unsettled = names_of_unsettled_hosts(store, *task);
  if (!unsettled.empty() && !force) return report(unsettled_error(*task, unsettled));
  if (const auto removed = store.remove(task->id); !removed) return report(removed.error());
  talk(terminal_text("task {} is removed", task->id));
  if (!unsettled.empty())
    talk(terminal_text("what {} may still have of it is not ended any more",
                       summarize_hosts(unsettled)));
  return ExitCode();
}

// The tasks that ended before `before` and are not among the newest `to_keep`; newest first.
std::vector<TaskRecord> old_tasks(std::vector<TaskRecord> tasks, UnixMillis before,
                                  std::uint64_t to_keep) {
  std::erase_if(tasks, [](const TaskRecord& task) { return !is_final(task.state); });
  tasks.erase(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min<std::uint64_t>(to_keep, tasks.size())));
  std::erase_if(tasks, [before](const TaskRecord& task) {
    return task.ended.value_or(task.created) > before;
  });
  return tasks;
}

Result<void> remove_one(SqliteTaskStore& store, const TaskRecord& task) {
  if (auto removable = check_removable(store, task); !removable) return removable;
  return store.remove(task.id);
}

struct Pruned {
  std::vector<TaskRecord> tasks;
  std::uint64_t bytes = 0;  ///< size of their logs
};

// Failures are reported.
Pruned prune(SqliteTaskStore& store, const std::vector<TaskRecord>& tasks, bool is_trial,
             Outcomes& outcomes) {
  Pruned pruned;
  for (const TaskRecord& task : tasks) {
    const std::uint64_t bytes = bytes_of_logs(store, task);
    const auto removed = is_trial ? check_removable(store, task) : remove_one(store, task);
    if (!removed) {
      talk(terminal_text(removed.error()));
      outcomes.add(exit_code_of(removed.error().error_class));
      continue;
    }
    outcomes.add(ExitCode());
    pruned.tasks.push_back(task);
    pruned.bytes += bytes;
  }
  return pruned;
}

ExitCode task_rm_command(const TaskRmFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  std::set<std::string> names;  // each task once, even if it is named several times
  for (const std::string& prefix : flags.tasks) {
    const auto task = (*store)->find(prefix);
    names.insert(task ? task->id : prefix);
  }
  if (names.size() == 1) return remove_named(**store, *names.begin(), flags.force);
  Outcomes outcomes;
  for (const std::string& name : names) outcomes.add(remove_named(**store, name, flags.force));
  return outcomes.report_all("were not removed");
}

ExitCode task_prune_command(const TaskPruneFlags& flags) {
  // A number needs a unit here: a user who writes 7 may mean days, and removal is final.
  const bool is_bare = flags.older_than != "0" && is_digit(flags.older_than.back());
  const auto age = is_bare ? std::nullopt : parse_duration(flags.older_than);
  if (!age)
    return report(make_error(ErrorClass::usage,
                             fmt::format("--older-than does not know '{}'", flags.older_than),
                             "say for how long a task has ended, with the unit: 90s, 12h, 7d"));
  auto store = open_task_store();
  if (!store) return report(store.error());
  // Finishes the removals of processes that died in the middle of one.
  if (!flags.dry_run)
    if (const auto removed = (*store)->finish_removals(); !removed) return report(removed.error());
  auto list = (*store)->list(true);
  if (!list) return report(list.error());
  const auto tasks =
      old_tasks(std::move(list->tasks), now_on_the_wall() - age->count(), flags.keep);
  Outcomes outcomes;
  report_damaged(list->damaged, outcomes);
  const Pruned pruned = prune(**store, tasks, flags.dry_run, outcomes);
  const ExitCode answered = answer(tasks_to_table(pruned.tasks, now_on_the_wall()));
  talk(terminal_text("{} {} removed, with {:.1f} MiB of logs",
                     counted(static_cast<std::int64_t>(pruned.tasks.size()), "task"),
                     flags.dry_run              ? "would be"
                     : pruned.tasks.size() == 1 ? "is"
                                                : "are",
                     static_cast<double>(pruned.bytes) / (1 << 20)));
  const ExitCode told = outcomes.report_all("cannot be removed now");
  return told.value() != 0 ? told : answered;
}

}  // namespace

void add_task_rm(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskRmFlags>();
  CLI::App* rm = task.add_subcommand("rm", "Remove the records and logs of tasks that have ended")
                     ->group("Commands");
  add_task_names(*rm, flags->tasks, value_kind::ended_task);
  rm->get_option("TASK")->required();
  rm->add_flag("--force", flags->force,
               "Also where a host may have something of it, or its record is damaged");
  rm->footer(
      "Examples:\n"
      "  train task rm k3wq");
  rm->callback([&choice, flags] { choice.run = [flags] { return task_rm_command(*flags); }; });
}

void add_task_prune(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskPruneFlags>();
  CLI::App* prune =
      task.add_subcommand("prune", "Remove the records of old tasks")->group("Commands");
  prune
      ->add_option("--older-than", flags->older_than,
                   "Tasks that ended longer ago than this: 12h, 30d; else 7d")
      ->type_name("DURATION")
      ->check(names("duration"));
  prune->add_option("--keep", flags->keep, "Keep so many of the newest that have ended")
      ->type_name("N")
      ->check(whole_number(0, most_counted));
  prune->add_flag("--dry-run", flags->dry_run, "Print what would be removed, and remove nothing");
  prune->footer(
      "Examples:\n"
      "  train task prune --older-than 30d --keep 100 --dry-run");
  prune->callback(
      [&choice, flags] { choice.run = [flags] { return task_prune_command(*flags); }; });
}

}  // namespace train
