// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands/flags.hpp"

namespace train {

// Each command in a file of its own: its flags, its help, and what it does. `train task` and what
// is below it is in cli/task_commands.
void add_launch(CLI::App& app, Choice& choice);
void add_plan(CLI::App& app, Choice& choice);
void add_check(CLI::App& app, Choice& choice);
/// `hosts list` and `hosts probe`.
void add_hosts_commands(CLI::App& app, Choice& choice);
/// `config check`, `config show` and `config schema`.
void add_config_commands(CLI::App& app, Choice& choice);
/// What ranks call: `report`, `once-per-host`, and for `train check` what measures.
void add_report(CLI::App& app, Choice& choice);
void add_once_per_host(CLI::App& app, Choice& choice);
void add_measuring(CLI::App& app, Choice& choice);
/// What launchers call on hosts where train is.
void add_agent(CLI::App& app, Choice& choice);

}  // namespace train
