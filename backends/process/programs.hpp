// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/process/file_calls.hpp"
#include "config_schema/experiment/entrypoint.hpp"
#include "config_schema/text/error.hpp"

namespace train {

// Functions with a `calls` argument note each of their file system calls there.

/// The error class for the errno of a system call on a path: `missing` when something is wrong with
/// the named file (it does not exist, or this user cannot use it), `host` when something is wrong
/// with the host (no descriptor is left, a disk or a mount is broken).
ErrorClass class_of_file_error(int error);

/// The absolute path of the program that a shell with this PATH would run from this (absolute)
/// directory: a name with a slash is taken relative to it, any other is searched along
/// `path_variable`, where an empty entry is the directory itself. An error says which places were
/// searched, or that the file found is a directory or not executable (class `missing`, or `host`).
Result<std::string> find_program(std::string_view name, std::string_view path_variable,
                                 std::string_view working_directory, FileCalls* calls = nullptr);

/// Checks that this absolute path can be executed here: it exists, is a file and executable; the
/// same for the interpreter in the first line of a script. Class `missing` or `host`.
Result<void> check_program(const std::string& program, FileCalls* calls = nullptr);

/// Checks that a script for an interpreter can be read from this (absolute) directory. The error
/// names a similar file if there is one; else `hint` says what to do. Class `missing` or `host`.
Result<void> check_script(const InterpretedScript& script, std::string_view path_variable,
                          std::string_view working_directory, const std::string& hint,
                          FileCalls* calls = nullptr);

/// The interpreter that the first line of a script names; `nullopt` for any other file.
std::optional<std::string> interpreter_of(const std::string& program, FileCalls* calls = nullptr);

/// Checks that this absolute path is a directory that can be entered. Class `missing` or `host`.
Result<void> check_working_directory(const std::string& directory, FileCalls* calls = nullptr);

}  // namespace train
