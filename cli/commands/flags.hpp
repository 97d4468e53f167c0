// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/request/commands.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "config_schema/fields/field_table.hpp"

namespace train {

/// Which command was chosen, as something to run once all flags are known.
using Chosen = std::function<ExitCode()>;

// --- The commands, by groups; what they are to fill outlives the parsing ---

struct RunFlags {
  LaunchFlags launch;
  ReportFlags report;
  OncePerHostFlags once;
  std::string tee = "all";
  std::string wait;
  std::string check;
  PlanFlags plan;
};
/// `launch`, `plan` and `report`.
void add_run_commands(CLI::App& app, Chosen& chosen, RunFlags& flags);

struct TaskFlags {
  TaskListFlags list;
  TaskShowFlags show;
  TaskBestFlags best;
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
void add_task_commands(CLI::App& app, Chosen& chosen, TaskFlags& flags);

struct HostsCommandFlags {
  HostsListFlags list;
  HostsProbeFlags probe;
};
void add_hosts_commands(CLI::App& app, Chosen& chosen, HostsCommandFlags& flags);

/// `check`.
void add_check_command(CLI::App& app, Chosen& chosen, CheckFlags& flags);

struct ConfigFlags {
  ConfigCheckFlags check;
  ConfigShowFlags show;
  ConfigSchemaFlags schema;
};
void add_config_commands(CLI::App& app, Chosen& chosen, ConfigFlags& flags);

// --- What several of them have ---

constexpr std::int64_t highest_rank = most_workers - 1;

/// Checks with messages that say what to write; those of CLI11 name types.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Refuses empty values: most come from a shell variable that is not set, and nobody means the
/// default by them.
CLI::Validator names(const std::string& what);

CLI::Option* add_config(CLI::App& command, RequestFlags& flags, const std::string& purpose);
void add_settings(CLI::App& command, std::vector<std::string>& settings);
/// What changes an experiment.
void add_overrides(CLI::App& command, RequestFlags& flags);
void add_hosts(CLI::App& command, HostFlags& flags);
void add_transport(CLI::App& command, std::optional<TransportKind>& transport);
/// --json and --csv.
void add_formats(CLI::App& command, TaskListFlags::Format& format);
void add_wait(CLI::App& command, std::string& wait);
/// Nothing: it does not wait; empty: without an end.
std::optional<std::string> wait_of(const std::string& wait);

}  // namespace train
