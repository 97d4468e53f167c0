// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

// A task is removed in three steps: its folder is set aside, under another name; its rows in the
// registry are deleted; the folder that was set aside is removed. Whoever dies in between leaves a
// record without a folder, which can be removed as any, or a folder that was set aside.

/// Sets the folder of a task in `tasks_folder` aside. Nothing is done when it is gone. Errors are
/// of class `no_input`.
Result<void> set_aside(const std::string& tasks_folder, const std::string& id);

/// Removes the folder of a task that was set aside, and what `programs` has for it alone. Errors
/// are of class `no_input`.
Result<void> remove_set_aside(const std::string& tasks_folder, const std::string& id,
                              const std::string& programs);
/// The same of all such folders, as processes that have died have left them. What can be removed
/// is, whatever goes wrong.
Result<void> remove_all_set_aside(const std::string& tasks_folder, const std::string& programs);

}  // namespace train
