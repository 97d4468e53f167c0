// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/process/file_calls.hpp"
#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/text/error.hpp"

namespace train {

// Functions with a `calls` argument note there each call that they make to a file system.

/// The class of a trouble, from the errno that the system answered with for a path: `missing` when
/// something is wrong with what was named (it is not there, or this user cannot use it), `host`
/// when something is wrong with the host (no descriptor is left, a disk or a mount is broken).
ErrorClass class_of_file_error(int error);

/// The absolute path of the program that a shell with this PATH would run from this (absolute)
/// directory: a name with a slash is taken relative to it, any other is searched along
/// `path_variable`, where an empty entry is the directory itself. An error says where was looked,
/// or that what was found is a directory or not executable (class `missing`, or `host`).
Result<std::string> find_program(std::string_view name, std::string_view path_variable,
                                 std::string_view working_directory, FileCalls* calls = nullptr);

/// Checks that this absolute path can be executed here: it exists, is a file and executable, and so
/// is the interpreter that its first line names if it is a script. Class `missing` or `host`.
Result<void> check_program(const std::string& program, FileCalls* calls = nullptr);

/// Checks that a script which an interpreter is to run can be read from this (absolute) directory.
/// The error names what is like it there; else `hint` says what to do. Class `missing` or `host`.
Result<void> check_script(const InterpretedScript& script, std::string_view path_variable,
                          std::string_view working_directory, const std::string& hint,
                          FileCalls* calls = nullptr);

/// The interpreter that the first line of a script names; nothing for any other file.
std::optional<std::string> interpreter_of(const std::string& program, FileCalls* calls = nullptr);

/// Checks that this absolute path is a directory that can be entered. Class `missing` or `host`.
Result<void> check_working_directory(const std::string& directory, FileCalls* calls = nullptr);

}  // namespace train
