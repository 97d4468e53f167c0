// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/logs/rank_output.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/exit_code.hpp"

namespace train {

// One function per command, each in a file of its own. Each says its own errors and returns the
// exit code of the process.

/// How far hosts are checked, each with what the one before does.
enum class CheckTier {
  fast,   ///< they are asked
  full,   ///< and the links between them measured
  bench,  ///< and NCCL
};

struct LaunchFlags {
  RequestFlags request;
  Tee tee;
  bool raw = false;
  bool json = false;
  bool detach = false;  ///< returns once the ranks have started
  bool strict = false;  ///< a search of which one trial fails has failed
  /// How hosts are looked at first, if at all: where one is not fit nothing is started,
  std::optional<CheckTier> check;
  bool exclude_unfit = false;  ///< or the others are taken
  /// Waits for slots that others hold, so long at most; empty: without an end.
  std::optional<std::string> wait;
};
/// Runs the experiment and waits for its end.
ExitCode launch_command(const LaunchFlags& flags);

struct PlanFlags {
  enum class Format { table, json, env, hostfile, slurm };
  RequestFlags request;
  Format format = Format::table;
  std::optional<int> rank;         ///< of `env`, only this one
  std::optional<std::string> svg;  ///< a file to draw the plan to as well
  bool live = false;               ///< hosts are asked what is held there
};
/// Shows what `launch` would run, touching no host unless it is `live`.
ExitCode plan_command(const PlanFlags& flags);

struct ReportFlags {
  std::vector<std::string> words;  ///< NAME=VALUE
  std::optional<std::string> step;
};
/// Reports metrics of the rank that this runs for.
ExitCode report_command(const ReportFlags& flags);

struct OncePerHostFlags {
  std::vector<std::string> command;  ///< after `--`
  std::string name;
};
/// Runs a command for all ranks of this host, and exits as it does.
ExitCode once_per_host_command(const OncePerHostFlags& flags);

/// Measures the links between the ranks of the task that this is a rank of.
ExitCode measure_links_command();
ExitCode measure_allreduce_command(const std::string& python);

struct TaskExecFlags {
  std::string task;
  std::optional<int> trial;  ///< of a search
  int rank = 0;
  bool no_terminal = false;
  std::vector<std::string> command;  ///< after `--`
};
/// Runs a command beside a rank of a task that runs, and exits as it does.
ExitCode task_exec_command(const TaskExecFlags& flags);

struct TaskGetFlags {
  std::string task;
  std::string path;          ///< on the host; not from / on: where the rank started
  std::string to;            ///< "-": standard output; empty: the current directory
  std::optional<int> trial;  ///< of a search
  int rank = 0;
  bool force = false;  ///< over what is there
};
/// Copies a file or folder that a rank has left on its host.
ExitCode task_get_command(const TaskGetFlags& flags);

struct TaskListFlags {
  enum class Format { table, json, csv };
  HostFlags hosts;  ///< that are asked; none: this machine
  bool all = false;
  bool mine = false;   ///< none of other users
  bool slots = false;  ///< host by host who has which slot
  bool watch = false;  ///< again and again, until it is interrupted or nobody reads it
  Format format = Format::table;
};
ExitCode task_list_command(const TaskListFlags& flags);

struct CheckFlags {
  RequestFlags request;  ///< without a config: of the hosts alone
  CheckTier tier = CheckTier::fast;
  std::string data;  ///< an absolute directory that hosts read, each its own; empty: none
  bool json = false;
};
/// Looks whether hosts are fit, for an experiment or as such: 0 when all are, 1 when one is not, 2
/// when of one nobody could tell, as documented; other codes as everywhere.
ExitCode check_command(const CheckFlags& flags);

struct HostsListFlags {
  HostFlags hosts;
  TaskListFlags::Format format = TaskListFlags::Format::table;
};
/// Asks the hosts that `launch` would take how they are.
ExitCode hosts_list_command(const HostsListFlags& flags);

struct HostsProbeFlags {
  std::vector<std::string> names;
  std::optional<TransportKind> transport;
  std::string file;    ///< to write; empty: it is printed
  bool force = false;  ///< over one that is there
};
/// Asks hosts what they have, and makes a hosts file of it.
ExitCode hosts_probe_command(const HostsProbeFlags& flags);

struct TaskShowFlags {
  std::string task;
  bool json = false;
  std::optional<std::string> svg;  ///< a file to draw the metrics of a search to as well
  bool watch = false;              ///< again and again, until it ends or nobody reads it
};
ExitCode task_show_command(const TaskShowFlags& flags);

struct TaskBestFlags {
  std::string task;
  bool only_hyperparameters = false;
};
ExitCode task_best_command(const TaskBestFlags& flags);

struct TaskLogsFlags {
  std::string task;
  std::string ranks;         ///< "3", "0,4-7"; empty: all
  std::string hosts;         ///< a host set; empty: all
  std::string attempt;       ///< a number, or "all"; empty: the last one, or all `since`
  std::optional<int> trial;  ///< nothing: the task has one
  std::string since;         ///< as `parse_moment` reads it; empty: the beginning
  std::optional<std::uint64_t> tail;
  bool only_stdout = false;
  bool only_stderr = false;
  bool timestamps = false;
  bool follow = false;
};
ExitCode task_logs_command(const TaskLogsFlags& flags);

struct TaskWaitFlags {
  std::string task;
};
/// Waits for the end of a task, and returns its exit code.
ExitCode task_wait_command(const TaskWaitFlags& flags);

struct TaskAttachFlags {
  std::string task;
  bool from_start = false;  ///< shows all output, else the last screenful and what comes
};
/// Shows what a task prints until its end, and returns its exit code. A task whose launcher has
/// died gets another one first.
ExitCode task_attach_command(const TaskAttachFlags& flags);

struct TaskKillFlags {
  std::vector<std::string> tasks;
  bool all = false;  ///< instead: all that run
  std::string signal = "TERM";
  std::optional<int> trial;  ///< of the one task: only this, and its end is not waited for
};
/// Stops tasks and waits for their ends; returns the code of the worst.
ExitCode task_kill_command(const TaskKillFlags& flags);

struct TaskRerunFlags {
  std::string task;
  std::vector<std::string> settings;  ///< --set, in order, over those of the task
  bool detach = false;
  bool strict = false;
  std::optional<std::string> wait;  ///< as `LaunchFlags::wait`
};
/// Launches what a task was launched with once more, as a new task.
ExitCode task_rerun_command(const TaskRerunFlags& flags);

struct TaskRmFlags {
  std::vector<std::string> tasks;
  bool force = false;  ///< though a host may have something of it, or its record is damaged
};
/// Removes the records, logs and all else of tasks that have ended.
ExitCode task_rm_command(const TaskRmFlags& flags);

struct TaskPruneFlags {
  std::string older_than = "7d";
  std::uint64_t keep = 0;  ///< the newest that have ended
  bool dry_run = false;
};
/// The same of all that have ended long ago.
ExitCode task_prune_command(const TaskPruneFlags& flags);

struct ConfigCheckFlags {
  std::vector<std::string> files;
  bool are_hosts = false;  ///< read as hosts files, whatever they look like
  bool warnings = false;   ///< say also what is legal
  bool json = false;
};
/// Says what is wrong with experiments and hosts files, and nothing when they are legal.
ExitCode config_check_command(const ConfigCheckFlags& flags);

struct ConfigShowFlags {
  RequestFlags request;  ///< of which the experiment, `-n`, `--batch` and `--set` count
  bool origin = false;
  bool json = false;
};
/// Prints an experiment as it counts, with all defaults.
ExitCode config_show_command(const ConfigShowFlags& flags);

struct ConfigSchemaFlags {
  std::string name = "experiment";
};
/// Prints a published JSON Schema.
ExitCode config_schema_command(const ConfigSchemaFlags& flags);

}  // namespace train
