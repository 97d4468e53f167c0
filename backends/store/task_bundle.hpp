// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

// What another supervisor needs to take over a task, in a folder of its own:
//
//     <folder>/request.json         what was asked for, with secrets (0600)
//     <folder>/program-<build id>   the `train` that launched it (0700)
//     <folder>/context.tar          what its ranks start in, if they do (0600)
//
// Programs are kept once for all tasks: `<programs>/<build id>` is another name of the same file,
// and is removed when no task has it any more, unless it is the one that runs. Where there is
// little room left, none is kept: then only the same build can go on with the task.

/// Which build this program is, in hexadecimal digits; empty when it does not say.
std::string own_build_id();

/// Makes the folder (0700) with the request, which is on the disk when this returns. Errors are of
/// class `no_input`.
Result<void> keep_request(const std::string& folder, std::string_view request);

/// Adds this program to the folder. Nothing is done where there is little room, or where the
/// program does not say which build it is. Errors are of class `no_input`.
Result<void> keep_program(const std::string& folder, const std::string& programs);

/// Adds the context. Nothing is done where there is little room. Errors are of class `no_input`.
Result<void> keep_context(const std::string& folder, std::string_view archive);

/// The context that was kept, as far as it was written; empty when none can be read.
std::string read_context(const std::string& folder);

/// The request. Class `no_input` when there is none, or somebody else can write it.
Result<std::string> read_bundle(const std::string& folder);

/// The path of the program that was kept; empty: this one is of the same build, or none was kept.
std::string kept_program(const std::string& folder);

/// Removes the folder, and programs of other builds that no task has any more. What cannot be
/// removed stays.
void remove_bundle(const std::string& task_folder, const std::string& programs);

/// The name of the folder in that of its task.
inline constexpr const char* bundle_name = "bundle";

}  // namespace train
