// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/file_calls.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Makes the folder for a trial's checkpoints, and its parents, if they do not exist, and checks
/// that this user can write in it. Returns its mark: the text of a file in it that the first host
/// makes, so that hosts which share the folder find the same mark, and hosts on which the path
/// names another folder find another. Errors are of class `missing` and name the path. Not for a
/// loop: the file system may hang; the call that is under way is noted in `calls`.
Result<std::string> mark_checkpoint_folder(const std::string& path, FileCalls& calls);

}  // namespace train
