// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "launcher/record/task_record.hpp"

namespace train {

/// The git state of a directory: the commit that is checked out, and whether tracked files differ
/// from it. What git does not report within `limit` is unknown; everything is unknown without git.
/// No program is started for a directory outside of repositories. Blocks; takes no locks of git.
GitRecord read_git(const std::string& directory, std::chrono::milliseconds limit);

}  // namespace train
