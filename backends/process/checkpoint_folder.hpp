// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/file_calls.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Makes the folder for a trial's checkpoints, and those around it, where they are not there yet,
/// and finds out whether this user can write in it. Returns its mark: the text of a file in it that
/// whoever comes first makes, so that hosts which share the folder find the same, and hosts on
/// which the path means another folder do not. Errors are of class `missing` and name the path. The
/// file system may take its time, which is noted in `calls`: not for a loop.
Result<std::string> mark_checkpoint_folder(const std::string& path, FileCalls& calls);

}  // namespace train
