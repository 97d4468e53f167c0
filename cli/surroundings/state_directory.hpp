// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/store/sqlite_task_store.hpp"

namespace train {

/// The directory of the user's task registry: $XDG_STATE_HOME/train, or ~/.local/state/train. It
/// need not exist. Class `no_input` when neither variable says where.
Result<std::string> state_directory();

/// Opens the registry there, creating what is missing.
Result<std::unique_ptr<SqliteTaskStore>> open_task_store();

}  // namespace train
