// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <exception>
#include <iostream>
#include <system_error>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "cli/agent_attach.hpp"
#include "cli/commands.hpp"
#include "cli/usage_error.hpp"
#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

constexpr std::int64_t highest_rank = most_workers - 1;
constexpr std::uint64_t most_lines = 1'000'000'000;

// Takes what follows `--`, the command of the ranks, off the arguments.
std::vector<std::string> take_command(std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return {};
  std::vector<std::string> command(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return command;
}

// Checks with messages that say what to write; those of CLI11 name types.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[=](const std::string& text) {
            std::uint64_t number = 0;
            const char* end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, number);
            const bool is_good =
                read.ec == std::errc() && read.ptr == end && number >= least && number <= most;
            return is_good
                       ? std::string()
                       : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
          },
          ""};
}

// The number of an attempt, or all of them.
CLI::Validator attempt_choice() {
  constexpr std::uint64_t most = 1'000'000;  // as many as an experiment may have
  CLI::Validator number = whole_number(0, most);
  return {
      [number](std::string& text) mutable { return text == "all" ? std::string() : number(text); },
      ""};
}

// Refuses empty values: most come from a shell variable that is not set, and nobody means the
// default by them.
CLI::Validator names(const std::string& what) {
  return {[=](const std::string& text) {
            return text.find_first_not_of(" \t\n") != text.npos
                       ? std::string()
                       : fmt::format(
                             "an empty value names no {} (a shell variable that is not set?)",
                             what);
          },
          ""};
}

CLI::Option* add_config(CLI::App& command, RequestFlags& flags, const std::string& purpose) {
  return command
      .add_option("CONFIG", flags.config,
                  fmt::format("Experiment to {} (YAML; - for standard input)", purpose))
      ->type_name("")
      ->check(names("experiment"));
}

void add_settings(CLI::App& command, std::vector<std::string>& settings) {
  command.add_option("--set", settings, "Override one key of the experiment; repeatable")
      ->type_name("KEY=VALUE")
      ->check(names("key"))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// What changes an experiment.
void add_overrides(CLI::App& command, RequestFlags& flags) {
  command.add_option("-n,--slots", flags.slots, "Slots of the trial; one rank each by default")
      ->type_name("SLOTS")
      ->check(whole_number(1, most_workers));
  command.add_option("--batch", flags.global_batch, "Global batch size, over all ranks")
      ->type_name("N")
      ->check(whole_number(1, most_samples));
  command
      .add_option("--max-runtime", flags.max_runtime,
                  "Stop the task so long after its ranks have started: 90m, 2h")
      ->type_name("DURATION")
      ->check(names("duration"));
  add_settings(command, flags.settings);
}

void add_hosts(CLI::App& command, HostFlags& flags) {
  command.add_option("-H,--hosts", flags.host_list, "Hosts: node[01-04]:8,gpu-b:4")
      ->type_name("LIST")
      ->check(names("hosts"));
  command.add_option("--hostfile", flags.host_file, "File of hosts: YAML, or one host a line")
      ->type_name("FILE")
      ->check(names("file"));
}

void add_transport(CLI::App& command, std::optional<TransportKind>& transport) {
  const auto set_transport = [&transport](const std::string& word) {
    transport = transport_of(word);
    if (!transport || *transport == TransportKind::local)
      throw CLI::ValidationError("--transport",
                                 fmt::format("'{}' is none of auto, ssh and openssh", word));
  };
  command
      .add_option_function<std::string>("--transport", set_transport,
                                        "How other hosts are reached: auto, ssh, or openssh")
      ->type_name("KIND");
}

// --json and --csv.
void add_formats(CLI::App& command, TaskListFlags::Format& format) {
  using Format = TaskListFlags::Format;
  auto* json = command.add_flag_callback(
      "--json", [&format] { format = Format::json; }, "Print JSON");
  command
      .add_flag_callback(
          "--csv", [&format] { format = Format::csv; }, "Print CSV")
      ->excludes(json);
}

void add_request_options(CLI::App& command, RequestFlags& flags) {
  command.footer(
      "What follows -- is the command of the ranks, or is appended to the entrypoint of CONFIG.");
  add_config(command, flags, "run");
  add_hosts(command, flags);
  command
      .add_option("--include", flags.include, "Only these hosts and slots: w0@w1:0,2, w[0-3]:0-1")
      ->type_name("HOSTS")
      ->check(names("hosts"));
  command.add_option("--exclude", flags.exclude, "All but these hosts and slots")
      ->type_name("HOSTS")
      ->check(names("hosts"));
  add_transport(command, flags.transport);
  command.add_flag("--allow-busy", flags.allow_busy,
                   "Take GPUs although processes outside of train compute on them");
  command
      .add_option("--context", flags.context,
                  "Send this directory to the hosts; ranks start in a copy of it")
      ->type_name("DIR")
      ->check(names("directory"));
  add_overrides(command, flags);
}

constexpr const char* examples =
    "Examples:\n"
    "  train launch experiment.yaml                       on this machine\n"
    "  train launch experiment.yaml -H gpu-a:8,gpu-b:8    over SSH\n"
    "  train launch -n 4 -- python3 train.py              without a file\n"
    "  train plan experiment.yaml                         only show what would run where\n"
    "  train config check experiment.yaml                 only say what is wrong with it\n"
    "\n"
    "train COMMAND --help describes a command; train(1) describes all, and the exit codes.";

// Which command was chosen, as something to run once all flags are known.
using Chosen = std::function<ExitCode()>;

void add_wait(CLI::App& command, std::string& wait) {
  command.add_flag("--wait", wait,
                   "Wait in line for slots that others hold; --wait=10m: so long at most");
}

// Nothing: it does not wait; empty: without an end. A flag without a value is "true" to CLI11.
std::optional<std::string> wait_of(const std::string& wait) {
  if (wait.empty()) return std::nullopt;
  return wait == "true" ? "" : wait;
}

void add_launch(CLI::App& app, Chosen& chosen, LaunchFlags& flags, std::string& tee,
                std::string& wait) {
  CLI::App* command = app.add_subcommand("launch", "Run an experiment on its hosts");
  command->group("Commands");
  add_request_options(*command, flags.request);
  auto* shown =
      command->add_option("--tee", tee, "Ranks whose output is shown: all, none, rank:0,4-7")
          ->type_name("RANKS")
          ->check(names("ranks"));
  command->add_flag("--raw", flags.raw, "Show output as it is: colors, progress bars");
  add_wait(*command, wait);
  auto* json = command->add_flag("--json", flags.json,
                                 "Print the finished task as JSON; output goes to stderr");
  command
      ->add_flag("-d,--detach", flags.detach,
                 "Return once the ranks have started; print the task's id")
      ->excludes(json)
      ->excludes(shown);
  command->callback([&] {
    chosen = [&] {
      auto parsed = parse_tee(tee, "--tee");
      if (!parsed) return report(parsed.error());
      flags.tee = *parsed;
      flags.tee.all_to_stderr = flags.json;
      flags.tee.raw = flags.raw;
      if (flags.detach) flags.tee.mode = Tee::Mode::none;
      flags.wait = wait_of(wait);
      return launch_command(flags);
    };
  });
}

void add_plan(CLI::App& app, Chosen& chosen, PlanFlags& flags) {
  CLI::App* command = app.add_subcommand("plan", "Show what launch would run, touching no host");
  command->group("Commands");
  add_request_options(*command, flags.request);
  const auto set_format = [&flags](const std::string& name) {
    using Format = PlanFlags::Format;
    const std::map<std::string, Format> formats = {{"table", Format::table},
                                                   {"json", Format::json},
                                                   {"env", Format::env},
                                                   {"hostfile", Format::hostfile},
                                                   {"slurm", Format::slurm}};
    const auto found = formats.find(name);
    if (found == formats.end())
      throw CLI::ValidationError(
          "--format", fmt::format("'{}' is none of table, json, env, hostfile and slurm", name));
    flags.format = found->second;
  };
  command
      ->add_option_function<std::string>("--format", set_format,
                                         "table (default), json, env, hostfile, or slurm")
      ->type_name("FORMAT");
  command->add_flag_callback(
      "--json", [&flags] { flags.format = PlanFlags::Format::json; }, "The same as --format json");
  command->add_flag("--live", flags.live, "Ask the hosts what is held there, and plan around it");
  command->add_option("--rank", flags.rank, "With --format env, only this rank")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  command->add_option("--svg", flags.svg, "Also draw the plan to this file, for a browser")
      ->type_name("FILE")
      ->check(names("file"));
  command->callback([&] { chosen = [&] { return plan_command(flags); }; });
}

struct TaskFlags {
  TaskListFlags list;
  TaskShowFlags show;
  TaskLogsFlags logs;
  TaskAttachFlags attach;
  TaskWaitFlags wait;
  TaskKillFlags kill;
  TaskRerunFlags rerun;
  std::string rerun_wait;
  TaskRmFlags rm;
  TaskPruneFlags prune;
  TaskExecFlags exec;
  TaskGetFlags get;
};

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
  prune->add_option("--older-than", flags.prune.older_than, "That ended so long ago; else 7d")
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
  get->add_flag("--force", flags.force, "Also over what is there");
  get->callback([&] { chosen = [&] { return task_get_command(flags); }; });
}

void add_task(CLI::App& app, Chosen& chosen, TaskFlags& flags) {
  CLI::App* task = app.add_subcommand("task", "See and stop tasks");
  task->group("Commands");
  task->require_subcommand(1);

  CLI::App* list =
      task->add_subcommand("list", "List the tasks that have not ended, and who holds slots")
          ->group("Commands");
  add_hosts(*list, flags.list.hosts);
  add_transport(*list, flags.list.hosts.transport);
  list->add_flag("--all", flags.list.all, "Also those that have ended");
  auto* mine = list->add_flag("--mine", flags.list.mine, "No tasks of other users");
  list->add_flag("--slots", flags.list.slots, "Host by host who has which slot")->excludes(mine);
  add_formats(*list, flags.list.format);
  list->add_flag("--watch", flags.list.watch, "Show it again and again, or as it changes")
      ->excludes("--json")
      ->excludes("--csv");
  list->callback([&] { chosen = [&] { return task_list_command(flags.list); }; });

  CLI::App* show = task->add_subcommand("show", "Show one task")->group("Commands");
  add_task_name(*show, flags.show.task);
  show->add_flag("--json", flags.show.json, "Print JSON, with plan and configuration");
  show->callback([&] { chosen = [&] { return task_show_command(flags.show); }; });

  CLI::App* logs =
      task->add_subcommand("logs", "Print what the ranks of a task wrote")->group("Commands");
  add_task_name(*logs, flags.logs.task);
  logs->add_option("--rank", flags.logs.ranks, "Only these ranks; one alone byte for byte")
      ->type_name("LIST")
      ->check(names("rank"));
  logs->add_option("--host", flags.logs.hosts, "Only the ranks on these hosts")
      ->type_name("HOSTS")
      ->check(names("host"));
  logs->add_option("--attempt", flags.logs.attempt, "Of this attempt, or of all; else of the last")
      ->type_name("N|all")
      ->check(attempt_choice());
  logs->add_option("--since", flags.logs.since, "Only from then on: 10m ago, 15:50, a date")
      ->type_name("TIME")
      ->check(names("time"));
  logs->add_option("--tail", flags.logs.tail, "Only the last lines of what is chosen")
      ->type_name("N")
      ->check(whole_number(0, most_lines));
  auto* only_stdout = logs->add_flag("--stdout", flags.logs.only_stdout, "Only standard output");
  logs->add_flag("--stderr", flags.logs.only_stderr, "Only standard error")->excludes(only_stdout);
  logs->add_flag("--timestamps", flags.logs.timestamps, "Begin each line with its time");
  logs->add_flag("-f,--follow", flags.logs.follow, "Go on until the task has ended");
  logs->callback([&] { chosen = [&] { return task_logs_command(flags.logs); }; });

  CLI::App* attach =
      task->add_subcommand("attach", "Show a task until its end; go on with one whose train died")
          ->group("Commands");
  add_task_name(*attach, flags.attach.task);
  attach->add_flag("--from-start", flags.attach.from_start,
                   "Show all that was printed, not only the last screenful");
  attach->callback([&] { chosen = [&] { return task_attach_command(flags.attach); }; });

  CLI::App* wait = task->add_subcommand("wait", "Wait for the end of a task, and exit as it did")
                       ->group("Commands");
  add_task_name(*wait, flags.wait.task);
  wait->callback([&] { chosen = [&] { return task_wait_command(flags.wait); }; });

  CLI::App* kill =
      task->add_subcommand("kill", "Stop tasks and wait for their ends")->group("Commands");
  add_task_names(*kill, flags.kill.tasks);
  kill->add_flag("--all", flags.kill.all, "All tasks that have not ended");
  kill->add_option("--signal", flags.kill.signal, "The reason: TERM (default), INT or HUP")
      ->type_name("NAME")
      ->check(names("signal"));
  kill->callback([&] { chosen = [&] { return task_kill_command(flags.kill); }; });

  CLI::App* rerun =
      task->add_subcommand("rerun", "Launch the same once more, as a new task")->group("Commands");
  add_task_name(*rerun, flags.rerun.task);
  add_settings(*rerun, flags.rerun.settings);
  rerun->add_flag("-d,--detach", flags.rerun.detach,
                  "Return once the ranks have started; print the task's id");
  add_wait(*rerun, flags.rerun_wait);
  rerun->callback([&] {
    chosen = [&] {
      flags.rerun.wait = wait_of(flags.rerun_wait);
      return task_rerun_command(flags.rerun);
    };
  });
  CLI::App* exec =
      task->add_subcommand("exec", "Run a command, after --, beside a rank")->group("Commands");
  add_task_name(*exec, flags.exec.task);
  exec->add_option("--rank", flags.exec.rank, "Beside this rank; else rank 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  exec->add_flag("--no-tty", flags.exec.no_terminal, "Pipes, also at a terminal");
  exec->callback([&] { chosen = [&] { return task_exec_command(flags.exec); }; });
  add_get(*task, chosen, flags.get);
  add_removals(*task, chosen, flags);
}

struct HostsCommandFlags {
  HostsListFlags list;
  HostsProbeFlags probe;
};

void add_hosts_commands(CLI::App& app, Chosen& chosen, HostsCommandFlags& flags) {
  CLI::App* hosts = app.add_subcommand("hosts", "Ask hosts how they are and what they have");
  hosts->group("Commands");
  hosts->require_subcommand(1);

  CLI::App* list = hosts->add_subcommand("list", "Show what hosts have, and how much of it is free")
                       ->group("Commands");
  add_hosts(*list, flags.list.hosts);
  add_transport(*list, flags.list.hosts.transport);
  add_formats(*list, flags.list.format);
  list->callback([&] { chosen = [&] { return hosts_list_command(flags.list); }; });

  CLI::App* probe =
      hosts->add_subcommand("probe", "Make a hosts file of what hosts have")->group("Commands");
  probe->add_option("NAME", flags.probe.names, "Hosts: node[01-04], user@gpu-b")
      ->type_name("")
      ->check(names("host"))
      ->required();
  add_transport(*probe, flags.probe.transport);
  probe->add_option("--write", flags.probe.file, "Write it to this file, which is not there yet")
      ->type_name("FILE")
      ->check(names("file"));
  probe->add_flag("--force", flags.probe.force, "Also over one that is");
  probe->callback([&] { chosen = [&] { return hosts_probe_command(flags.probe); }; });
}

struct ConfigFlags {
  ConfigCheckFlags check;
  ConfigShowFlags show;
  ConfigSchemaFlags schema;
};

void add_config_commands(CLI::App& app, Chosen& chosen, ConfigFlags& flags) {
  CLI::App* config = app.add_subcommand("config", "Check and show experiments and hosts files");
  config->group("Commands");
  config->require_subcommand(1);

  CLI::App* check =
      config->add_subcommand("check", "Say what is wrong with files; silent if nothing")
          ->group("Commands");
  check->add_option("FILE", flags.check.files, "Experiments and hosts files (- for standard input)")
      ->type_name("")
      ->check(names("file"))
      ->required();
  check->add_flag("--hosts", flags.check.are_hosts, "Read them as hosts files");
  check->add_flag("-W,--warnings", flags.check.warnings,
                  "Also say what is legal, but has no effect or cannot be launched");
  check->add_flag("--json", flags.check.json, "Print all that is found as JSON");
  check->callback([&] { chosen = [&] { return config_check_command(flags.check); }; });

  CLI::App* show =
      config->add_subcommand("show", "Print an experiment with all defaults")->group("Commands");
  add_config(*show, flags.show.request, "show")->required();
  add_overrides(*show, flags.show.request);
  show->add_flag("--origin", flags.show.origin, "Say where each value comes from");
  show->add_flag("--json", flags.show.json, "Print JSON");
  show->callback([&] { chosen = [&] { return config_show_command(flags.show); }; });

  CLI::App* schema =
      config->add_subcommand("schema", "Print a JSON Schema, for editors")->group("Commands");
  schema
      ->add_option("NAME", flags.schema.name,
                   "experiment (default), hosts, diagnostics, plan, task")
      ->type_name("")
      ->check(names("schema"));
  schema->callback([&] { chosen = [&] { return config_schema_command(flags.schema); }; });
}

void add_agent(CLI::App& app, Chosen& chosen, AgentAttachFlags& flags) {
  CLI::App* agent = app.add_subcommand("agent")->group("");  // for launchers, not for people
  agent->require_subcommand(1);
  CLI::App* attach = agent->add_subcommand("attach");
  attach->add_option("KEY", flags.key)->required();
  attach->add_option("--open-files", flags.open_files);
  attach->callback([&] { chosen = [&] { return agent_attach_command(flags); }; });
  CLI::App* reattach = agent->add_subcommand("reattach");
  reattach->add_option("KEY", flags.key)->required();
  reattach->callback([&] { chosen = [&] { return agent_reattach_command(flags.key); }; });
  CLI::App* sweep = agent->add_subcommand("sweep");
  sweep->add_option("KEY", flags.key)->required();
  sweep->callback([&] { chosen = [&] { return agent_sweep_command(flags.key); }; });
  CLI::App* exec = agent->add_subcommand("exec");
  exec->add_option("KEY", flags.key)->required();
  exec->callback([&] { chosen = [&] { return agent_exec_command(flags.key); }; });
  CLI::App* get = agent->add_subcommand("get");
  get->add_option("KEY", flags.key)->required();
  get->callback([&] { chosen = [&] { return agent_get_command(flags.key); }; });
  CLI::App* look = agent->add_subcommand("look");
  look->add_option("WORD", flags.key)->required();
  look->callback([&] { chosen = [&] { return agent_look_command(flags.key); }; });
  CLI::App* wait = agent->add_subcommand("wait");
  wait->add_option("KEY", flags.key)->required();
  wait->callback([&] { chosen = [&] { return agent_wait_command(flags.key); }; });
}

ExitCode run(std::vector<std::string> arguments) {
  LaunchFlags launch;
  PlanFlags plan;
  TaskFlags task;
  HostsCommandFlags hosts;
  ConfigFlags config;
  std::string tee = "all";
  std::string wait;
  AgentAttachFlags agent;
  Chosen chosen;

  CLI::App app("Launches ranked training processes on hosts that have nothing but sshd.", "train");
  app.set_version_flag("--version", "train " TRAIN_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND ...");
  app.get_formatter()->label("REQUIRED", "");
  add_launch(app, chosen, launch, tee, wait);
  add_plan(app, chosen, plan);
  add_task(app, chosen, task);
  add_hosts_commands(app, chosen, hosts);
  add_config_commands(app, chosen, config);
  add_agent(app, chosen, agent);
  app.footer(examples);  // last: what comes later would inherit it

  launch.request.command = plan.request.command = task.exec.command = take_command(arguments);
  // To CLI11 that is a flag without a value.
  if (std::find(arguments.begin(), arguments.end(), "--wait=") != arguments.end())
    return report(make_error(ErrorClass::usage,
                             "--wait: an empty value names no duration (a shell variable that is "
                             "not set?)",
                             "write --wait=10m, or --wait alone to wait without an end"));
  try {
    // This parse() takes the arguments in reverse order.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help_or_version) {
    return ExitCode(app.exit(help_or_version));
  } catch (const CLI::ParseError& error) {
    return report(usage_error(app, error, arguments));
  }
  const bool runs_something =
      app.got_subcommand("launch") || app.got_subcommand("plan") || !task.exec.task.empty();
  if (!runs_something && !launch.request.command.empty())
    return report(command_without_ranks(app, arguments, launch.request.command));
  return chosen();
}

}  // namespace

}  // namespace train

namespace {

// The error for an exception that no code below has turned into one: the limit of open files, of
// which an event loop needs a handful before it can do anything, or else a bug.
train::Error unexpected_error(const std::exception& exception) {
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  const int number = system == nullptr ? 0 : system->code().value();
  if (number == EMFILE || number == ENFILE)
    return train::make_error(train::ErrorClass::host,
                             std::string("too many open files: ") + exception.what(),
                             "raise the limit: ulimit -n 4096");
  return train::make_error(train::ErrorClass::bug,
                           std::string("this is a bug in train: ") + exception.what(),
                           "please report it with the command that you ran");
}

}  // namespace

int main(int argc, char* argv[]) {
  train::open_closed_standard_streams();
  // A file that becomes longer than it may (ulimit -f) is an error like a full disk, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  int code = 0;
  try {
    code = train::run({argv + 1, argv + argc}).value();
  } catch (const std::exception& error) {
    code = train::report(unexpected_error(error)).value();
  }
  std::cout.flush();
  train::end_program(code);
}
