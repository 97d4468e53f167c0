// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

// What another supervisor needs to take over a task, in a folder of its own:
//
//     <folder>/request.json         the launch request, with secrets (0600)
//     <folder>/program-<build id>   the `train` that launched it (0700)
//     <folder>/context.tar          the context of its ranks, if any (0600)
//
// Programs are kept once for all tasks: `<programs>/<build id>` is another name of the same file.
// It is removed when no task has it any more, unless it is the program that runs now. If there is
// little room, no program is kept: then only the same build can resume the task.

/// The build id of this program, in hexadecimal digits; empty when it has none.
std::string own_build_id();

/// Creates the folder (0700) with the request, which is on the disk when this returns. Errors are
/// of class `no_input`.
Result<void> keep_request(const std::string& folder, std::string_view request);

/// Adds this program to the folder. Does nothing when there is little room, or when the program has
/// no build id. Errors are of class `no_input`.
Result<void> keep_program(const std::string& folder, const std::string& programs);

/// Adds the context. Does nothing when there is little room. Errors are of class `no_input`.
Result<void> keep_context(const std::string& folder, std::string_view archive);

/// The context that was kept, possibly truncated; empty when none can be read.
std::string read_context(const std::string& folder);

/// The request. Class `no_input` when there is none, it is too large, or other users have access to
/// it.
Result<std::string> read_bundle(const std::string& folder);

/// The path of the program that was kept; empty when it is of the same build as this one, or none
/// was kept.
std::string kept_program(const std::string& folder);

/// Removes the bundle folder, and programs of other builds that no task has any more. What cannot
/// be removed stays.
void remove_bundle(const std::string& task_folder, const std::string& programs);

/// The name of the bundle folder in the folder of its task.
inline constexpr const char* bundle_name = "bundle";

}  // namespace train
