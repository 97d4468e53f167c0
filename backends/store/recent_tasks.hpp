// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/record/task_record.hpp"

namespace train {

/// What the registry says of a task in a few words.
struct RecentTask {
  std::string id;
  std::string name;
  TaskState state =
      TaskState::starting;  ///< as recorded: whether its launcher lives is not checked
};

/// The last `most` tasks in the state directory `root`, the newest first. For completion on a
/// command line: creates nothing, changes nothing and hardly waits. Empty if the registry does not
/// exist or cannot be read.
std::vector<RecentTask> recent_tasks(const std::string& root, std::size_t most);

}  // namespace train
