// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config_schema/error.hpp"

namespace train {

/// The absolute path of the program that a shell with this PATH would run from this (absolute)
/// directory: a name with a slash is taken relative to it, any other is searched along
/// `path_variable`, where an empty entry is the directory itself. An error of class `missing` says
/// where was looked, or that what was found is a directory or not executable.
Result<std::string> find_program(std::string_view name, std::string_view path_variable,
                                 std::string_view working_directory);

/// That this absolute path can be executed here: it exists, is a file, is executable, and so is the
/// interpreter that its first line names if it is a script. Class `missing`.
Result<void> check_program(const std::string& program);

/// The interpreter that the first line of a script names; nothing for any other file.
std::optional<std::string> interpreter_of(const std::string& program);

/// That this absolute path is a directory that can be entered. Class `missing`.
Result<void> check_working_directory(const std::string& directory);

}  // namespace train
