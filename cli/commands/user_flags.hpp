// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "config_schema/user_file.hpp"

namespace train {

/// Whether the parsed command line is of a command that takes options from the user's file: one of
/// those that users type on the machine of the launcher.
bool takes_user_flags(const CLI::App& app);

/// The options that the user's file gives to the parsed command of `app`, as words of its command
/// line: `--progress=plain`. What the command line or a variable of the environment gives, or
/// excludes, is left out. Class `config`, with all places, if the file names unknown commands or
/// options, or if the command refuses a value.
Result<std::vector<std::string>> words_of_user(const CLI::App& app, const UserFile& file);

/// Checks all options of the file, by setting them: `app` runs no command afterwards.
Result<void> check_user_flags(const CLI::App& app, const UserFile& file);

}  // namespace train
