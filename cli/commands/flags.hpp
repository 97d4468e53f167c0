// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/request/request.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "config_schema/fields/field_table.hpp"

namespace train {

/// Which command was chosen, as something to run once all flags are known.
struct Choice {
  std::function<ExitCode()> run;
  std::vector<std::string> command;  ///< what follows `--`

  /// For a command that takes it; of the others main refuses one.
  std::vector<std::string> take_command();
  bool has_taken_command = false;
};

/// How a list is printed.
enum class ListFormat { table, json, csv };

// --- What several commands have ---

constexpr std::int64_t highest_rank = most_workers - 1;

/// Checks with messages that say what to write; those of CLI11 name types.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
/// Refuses empty values: most come from a shell variable that is not set, and nobody means the
/// default by them.
CLI::Validator names(const std::string& what);

CLI::Option* add_config(CLI::App& command, RequestFlags& flags, const std::string& purpose);
void add_settings(CLI::App& command, std::vector<std::string>& settings);
/// What `launch` and `plan` have in common.
void add_request(CLI::App& command, RequestFlags& flags);
/// What changes an experiment.
void add_overrides(CLI::App& command, RequestFlags& flags);
void add_hosts(CLI::App& command, HostFlags& flags);
void add_transport(CLI::App& command, std::optional<TransportKind>& transport);
/// --json and --csv.
void add_formats(CLI::App& command, ListFormat& format);
void add_wait(CLI::App& command, std::string& wait);
/// Nothing: it does not wait; empty: without an end.
std::optional<std::string> wait_of(const std::string& wait);

}  // namespace train
