// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/store/sqlite_task_store.hpp"

namespace train {

/// Opens the user's task registry: under $XDG_STATE_HOME/train, or ~/.local/state/train.
Result<std::unique_ptr<SqliteTaskStore>> open_task_store();

/// The home directory: $HOME, or what the user database says.
std::string home_directory();

/// Where ssh looks for ~/.ssh: what the user database says, whatever $HOME is; $HOME for a user who
/// is not in it.
std::string home_of_ssh();

/// The name of the user who runs this process.
std::string user_name();

}  // namespace train
