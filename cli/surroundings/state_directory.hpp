// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backends/store/sqlite_task_store.hpp"

namespace train {

/// Opens the user's task registry: under $XDG_STATE_HOME/train, or ~/.local/state/train.
Result<std::unique_ptr<SqliteTaskStore>> open_task_store();

}  // namespace train
