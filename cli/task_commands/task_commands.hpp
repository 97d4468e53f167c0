// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/flags.hpp"
#include "cli/completion/value_kind.hpp"
#include "launcher/control/control_talk.hpp"

namespace train {

// The subcommands of `train task`, in the order of its help.
void add_task_list(CLI::App& task, Choice& choice);
void add_task_show(CLI::App& task, Choice& choice);
void add_task_report(CLI::App& task, Choice& choice);
void add_task_best(CLI::App& task, Choice& choice);
void add_task_logs(CLI::App& task, Choice& choice);
void add_task_attach(CLI::App& task, Choice& choice);
void add_task_wait(CLI::App& task, Choice& choice);
void add_task_kill(CLI::App& task, Choice& choice);
void add_task_rerun(CLI::App& task, Choice& choice);
void add_task_exec(CLI::App& task, Choice& choice);
void add_task_get(CLI::App& task, Choice& choice);
void add_task_rm(CLI::App& task, Choice& choice);
void add_task_prune(CLI::App& task, Choice& choice);

// --- Shared by several subcommands ---

constexpr std::uint64_t most_counted = 1'000'000'000;  ///< limit for numbers of lines and tasks

/// `kind` says which tasks a shell offers (`value_kind`).
void add_task_names(CLI::App& command, std::vector<std::string>& tasks, const char* kind);

}  // namespace train
