// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/completion/value_kind.hpp"
#include "cli/logs/rank_output.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "config_schema/fields/field_table.hpp"

namespace train {

/// The chosen command, to be run once all flags are known.
struct Choice {
  std::function<ExitCode()> run;
  std::vector<std::string> command;  ///< what follows `--`
  ExperimentDefaults defaults;       ///< of the user's file

  /// Called by commands that take a rank command; main refuses it for all other commands.
  std::vector<std::string> take_command();
  bool has_taken_command = false;
};

/// How a list is printed.
enum class ListFormat { table, json, csv };

// --- Shared by several commands ---

constexpr std::int64_t highest_rank = most_workers - 1;

/// Validators whose messages say what to write; those of CLI11 name types.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Refuses empty values: most come from an unset shell variable, where the default is not what the
/// user intends. A shell completes the value as one of the kind `completed_as` (`value_kind`), or
/// else `what`.
CLI::Validator names(const std::string& what, const std::string& completed_as = {});
/// Refuses all but these words.
CLI::Validator one_of(const std::vector<std::string>& words);

CLI::Option* add_config(CLI::App& command, RequestFlags& flags, const std::string& purpose);
void add_settings(CLI::App& command, std::vector<std::string>& settings);
/// The flags that `launch` and `plan` share.
void add_request(CLI::App& command, RequestFlags& flags);
/// The flags that change an experiment.
void add_overrides(CLI::App& command, RequestFlags& flags);
/// --env, --env-file and --secret.
void add_environment(CLI::App& command, EnvironmentFlags& flags);
void add_hosts(CLI::App& command, HostFlags& flags);
void add_transport(CLI::App& command, std::optional<TransportKind>& transport);
/// The argument TASK. `kind` says which tasks a shell offers (`value_kind`).
void add_task_name(CLI::App& command, std::string& task, const char* kind = value_kind::task);
void add_trial(CLI::App& command, std::optional<int>& trial);
/// --json and --csv.
void add_formats(CLI::App& command, ListFormat& format);
/// --dedup.
void add_dedup(CLI::App& command, bool& is_folded);
void add_progress(CLI::App& command, Progress& progress);
void add_wait(CLI::App& command, std::string& wait);
/// Nothing: does not wait; empty: waits without a limit.
std::optional<std::string> wait_of(const std::string& wait);

}  // namespace train
