// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands/flags.hpp"

namespace train {

// Each command has a file of its own: its flags, its help, and what it does. `train task` and its
// subcommands are in cli/task_commands.
void add_launch(CLI::App& app, Choice& choice);
void add_plan(CLI::App& app, Choice& choice);
void add_check(CLI::App& app, Choice& choice);
void add_doctor(CLI::App& app, Choice& choice);
/// `hosts list` and `hosts probe`.
void add_hosts_commands(CLI::App& app, Choice& choice);
/// `config check`, `config show` and `config schema`.
void add_config_commands(CLI::App& app, Choice& choice);
/// `completion`, and the hidden `complete`, which the scripts of shells call.
void add_completion(CLI::App& app, Choice& choice);
/// Commands for ranks: `report`, `once-per-host`, and the measurements of `train check`.
void add_report(CLI::App& app, Choice& choice);
void add_once_per_host(CLI::App& app, Choice& choice);
void add_measuring(CLI::App& app, Choice& choice);
/// `forward`, and what it calls on hosts.
void add_forward(CLI::App& app, Choice& choice);
/// Commands that launchers call on hosts where train is installed.
void add_agent(CLI::App& app, Choice& choice);

}  // namespace train
