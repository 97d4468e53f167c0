// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "launcher/record/task_record.hpp"

namespace train {

/// What git says of the directory: the commit that is checked out, and whether tracked files differ
/// from it. What it does not say within `limit` is not known, nor anything where there is no git;
/// no program is started for a directory that is in no repository. Blocks; locks nothing of git's.
GitRecord read_git(const std::string& directory, std::chrono::milliseconds limit);

}  // namespace train
