// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace train {

/// The kind of the values of an option (`value_kind`): the name of its first validator, or empty.
std::string kind_of(CLI::Option& option);

/// What a shell offers at the cursor, as lines: first what the shell adds of its own ("nothing",
/// "files", "directories", or "command": what follows `--` is a command line), then a line for each
/// candidate, whose description follows a tab.
///
/// `words` are those behind the name of the program; the last is the one at the cursor, up to it.
/// The lines have only words that begin with it, and that every shell takes for one word as they
/// are.
std::string completion_of(CLI::App& app, const std::vector<std::string>& words);

/// The script that makes a shell ask `train complete`; nothing for an unknown shell. Defined in
/// scripts.cpp, which CMake makes from scripts.cpp.in and the scripts beside it.
std::optional<std::string_view> completion_script(std::string_view shell);

}  // namespace train
