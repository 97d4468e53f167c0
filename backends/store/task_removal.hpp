// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

// A task is removed in three steps: its folder is set aside, under another name; its rows in the
// registry are deleted; the folder that was set aside is removed. A process that dies in between
// leaves a record without a folder, which can be removed like any other, or a folder that was set
// aside.

/// Sets the folder of a task in `tasks_folder` aside. Does nothing when it does not exist. Errors
/// are of class `no_input`.
Result<void> set_aside(const std::string& tasks_folder, const std::string& id);

/// Removes the folder of a task that was set aside, and the programs in `programs` that no other
/// task has. Errors are of class `no_input`.
Result<void> remove_set_aside(const std::string& tasks_folder, const std::string& id,
                              const std::string& programs);
/// Does the same for all folders that were set aside, which processes that died have left.
/// Continues after a failure, and returns the first one.
Result<void> remove_all_set_aside(const std::string& tasks_folder, const std::string& programs);

}  // namespace train
