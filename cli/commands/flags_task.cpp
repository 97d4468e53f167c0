// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/flags.hpp"

namespace train {

namespace {

constexpr std::uint64_t most_lines = 1'000'000'000;
constexpr std::uint64_t highest_trial = 999'999'999;

// The number of an attempt, or all of them.
CLI::Validator attempt_choice() {
  constexpr std::uint64_t most = 1'000'000;  // as many as an experiment may have
  CLI::Validator number = whole_number(0, most);
  return {
      [number](std::string& text) mutable { return text == "all" ? std::string() : number(text); },
      ""};
}

void add_task_name(CLI::App& command, std::string& task) {
  command.add_option("TASK", task, "its id in 'train task list', or the beginning of it")
      ->type_name("")
      ->required()
      ->check(names("task"));
}

void add_task_names(CLI::App& command, std::vector<std::string>& tasks) {
  command.add_option("TASK", tasks, "their ids in 'train task list', or the beginnings of them")
      ->type_name("")
      ->check(names("task"));
}

void add_trial(CLI::App& command, std::optional<int>& trial) {
  command.add_option("--trial", trial, "Of this trial, where a task has several")
      ->type_name("N")
      ->check(whole_number(0, highest_trial));
}

void add_removals(CLI::App& task, Chosen& chosen, TaskFlags& flags) {
  CLI::App* rm = task.add_subcommand("rm", "Remove the records and logs of tasks that have ended")
                     ->group("Commands");
  add_task_names(*rm, flags.rm.tasks);
  rm->get_option("TASK")->required();
  rm->add_flag("--force", flags.rm.force,
               "Also where a host may have something of it, or its record is damaged");
  rm->callback([&] { chosen = [&] { return task_rm_command(flags.rm); }; });

  CLI::App* prune =
      task.add_subcommand("prune", "Remove those of all tasks that have ended long ago")
          ->group("Commands");
  prune
      ->add_option("--older-than", flags.prune.older_than,
                   "That ended so long ago: 12h, 30d; else 7d")
      ->type_name("DURATION")
      ->check(names("duration"));
  prune->add_option("--keep", flags.prune.keep, "But for the newest that have ended")
      ->type_name("N")
      ->check(whole_number(0, most_lines));
  prune->add_flag("--dry-run", flags.prune.dry_run, "Only show which");
  prune->callback([&] { chosen = [&] { return task_prune_command(flags.prune); }; });
}

void add_get(CLI::App& task, Chosen& chosen, TaskGetFlags& flags) {
  CLI::App* get =
      task.add_subcommand("get", "Copy a file or folder that a rank has left")->group("Commands");
  add_task_name(*get, flags.task);
  get->add_option("PATH", flags.path,
                  "a file or folder there, from where the rank started, or from / on")
      ->type_name("")
      ->required()
      ->check(names("file"));
  get->add_option("TO", flags.to,
                  "its place here; else the current directory; - for standard output")
      ->type_name("")
      ->check(names("file"));
  get->add_option("--rank", flags.rank, "From the host of this rank; else of rank 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  add_trial(*get, flags.trial);
  get->add_flag("--force", flags.force, "Also over what is there");
  get->callback([&] { chosen = [&] { return task_get_command(flags); }; });
}

void add_list(CLI::App& task, Chosen& chosen, TaskListFlags& flags) {
  CLI::App* list =
      task.add_subcommand("list", "List the tasks that have not ended, and who holds slots")
          ->group("Commands");
  add_hosts(*list, flags.hosts);
  add_transport(*list, flags.hosts.transport);
  list->add_flag("--all", flags.all, "Also those that have ended");
  auto* mine = list->add_flag("--mine", flags.mine, "No tasks of other users");
  list->add_flag("--slots", flags.slots, "Host by host who has which slot")->excludes(mine);
  add_formats(*list, flags.format);
  list->add_flag("--watch", flags.watch, "Show it again and again, or as it changes")
      ->excludes("--json")
      ->excludes("--csv");
  list->callback([&] { chosen = [&] { return task_list_command(flags); }; });
}

void add_show(CLI::App& task, Chosen& chosen, TaskShowFlags& flags) {
  CLI::App* show = task.add_subcommand("show", "Show one task")->group("Commands");
  add_task_name(*show, flags.task);
  show->add_flag("--json", flags.json, "Print JSON, with plan and configuration");
  show->add_option("--svg", flags.svg, "Also draw what the trials of a search have reported")
      ->type_name("FILE")
      ->check(names("file"));
  show->add_flag("--watch", flags.watch, "Show it again and again, or as it changes, until it ends")
      ->excludes("--json")
      ->excludes("--svg");
  show->callback([&] { chosen = [&] { return task_show_command(flags); }; });
}

void add_best(CLI::App& task, Chosen& chosen, TaskBestFlags& flags) {
  CLI::App* best =
      task.add_subcommand("best", "Print the best trial of a search, as YAML")->group("Commands");
  add_task_name(*best, flags.task);
  best->add_flag("--hyperparameters", flags.only_hyperparameters,
                 "Only what an experiment takes to run it again");
  best->callback([&] { chosen = [&] { return task_best_command(flags); }; });
}

void add_logs(CLI::App& task, Chosen& chosen, TaskLogsFlags& flags) {
  CLI::App* logs =
      task.add_subcommand("logs", "Print what the ranks of a task wrote")->group("Commands");
  add_task_name(*logs, flags.task);
  logs->add_option("--rank", flags.ranks, "Only these ranks; one alone byte for byte")
      ->type_name("LIST")
      ->check(names("rank"));
  logs->add_option("--host", flags.hosts, "Only the ranks on these hosts")
      ->type_name("HOSTS")
      ->check(names("host"));
  add_trial(*logs, flags.trial);
  logs->add_option("--attempt", flags.attempt, "Of this attempt, or of all; else of the last")
      ->type_name("N|all")
      ->check(attempt_choice());
  logs->add_option("--since", flags.since,
                   "Only from then on: 10m or 90 (seconds) ago, 15:50, a date")
      ->type_name("TIME")
      ->check(names("time"));
  logs->add_option("--tail", flags.tail, "Only the last lines of what is chosen")
      ->type_name("N")
      ->check(whole_number(0, most_lines));
  auto* only_stdout = logs->add_flag("--stdout", flags.only_stdout, "Only standard output");
  logs->add_flag("--stderr", flags.only_stderr, "Only standard error")->excludes(only_stdout);
  logs->add_flag("--timestamps", flags.timestamps, "Begin each line with its time");
  logs->add_flag("-f,--follow", flags.follow, "Go on until the task has ended");
  logs->callback([&] { chosen = [&] { return task_logs_command(flags); }; });
}

void add_attach(CLI::App& task, Chosen& chosen, TaskAttachFlags& flags) {
  CLI::App* attach =
      task.add_subcommand("attach", "Show a task until its end; go on with one whose train died")
          ->group("Commands");
  add_task_name(*attach, flags.task);
  attach->add_flag("--from-start", flags.from_start,
                   "Show all that was printed, not only the last screenful");
  attach->callback([&] { chosen = [&] { return task_attach_command(flags); }; });
}

void add_await(CLI::App& task, Chosen& chosen, TaskWaitFlags& flags) {
  CLI::App* wait = task.add_subcommand("wait", "Wait for the end of a task, and exit as it did")
                       ->group("Commands");
  add_task_name(*wait, flags.task);
  wait->callback([&] { chosen = [&] { return task_wait_command(flags); }; });
}

void add_kill(CLI::App& task, Chosen& chosen, TaskKillFlags& flags) {
  CLI::App* kill =
      task.add_subcommand("kill", "Stop tasks and wait for their ends")->group("Commands");
  add_task_names(*kill, flags.tasks);
  auto* all = kill->add_flag("--all", flags.all, "All tasks that have not ended");
  auto* signal =
      kill->add_option("--signal", flags.signal, "The reason: TERM (default), INT or HUP")
          ->type_name("NAME")
          ->check(names("signal"));
  kill->add_option("--trial", flags.trial, "Only this trial of a search, which goes on")
      ->type_name("N")
      ->check(whole_number(0, highest_trial))
      ->excludes(all)
      ->excludes(signal);
  kill->callback([&] { chosen = [&] { return task_kill_command(flags); }; });
}

void add_rerun(CLI::App& task, Chosen& chosen, TaskFlags& flags) {
  CLI::App* rerun =
      task.add_subcommand("rerun", "Launch the same once more, as a new task")->group("Commands");
  add_task_name(*rerun, flags.rerun.task);
  add_settings(*rerun, flags.rerun.settings);
  rerun->add_flag("-d,--detach", flags.rerun.detach,
                  "Return once the ranks have started; print the task's id");
  rerun->add_flag("--strict", flags.rerun.strict,
                  "Fail a search of which any trial has failed, and not only all");
  add_wait(*rerun, flags.rerun_wait);
  rerun->callback([&] {
    chosen = [&] {
      flags.rerun.wait = wait_of(flags.rerun_wait);
      return task_rerun_command(flags.rerun);
    };
  });
}

void add_exec(CLI::App& task, Chosen& chosen, TaskExecFlags& flags) {
  CLI::App* exec =
      task.add_subcommand("exec", "Run a command, after --, beside a rank")->group("Commands");
  add_task_name(*exec, flags.task);
  exec->add_option("--rank", flags.rank, "Beside this rank; else rank 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  add_trial(*exec, flags.trial);
  exec->add_flag("--no-tty", flags.no_terminal, "Pipes, also at a terminal");
  exec->callback([&] { chosen = [&] { return task_exec_command(flags); }; });
}

}  // namespace

void add_task_commands(CLI::App& app, Chosen& chosen, TaskFlags& flags) {
  CLI::App* task = app.add_subcommand("task", "See and stop tasks");
  task->group("Commands");
  task->require_subcommand(1);
  add_list(*task, chosen, flags.list);
  add_show(*task, chosen, flags.show);
  add_best(*task, chosen, flags.best);
  add_logs(*task, chosen, flags.logs);
  add_attach(*task, chosen, flags.attach);
  add_await(*task, chosen, flags.wait);
  add_kill(*task, chosen, flags.kill);
  add_rerun(*task, chosen, flags);
  add_exec(*task, chosen, flags.exec);
  add_get(*task, chosen, flags.get);
  add_removals(*task, chosen, flags);
}

}  // namespace train
