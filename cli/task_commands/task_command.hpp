// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands/flags.hpp"

namespace train {

/// `train task` with its subcommands.
void add_task(CLI::App& app, Choice& choice);

}  // namespace train
