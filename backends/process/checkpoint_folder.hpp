// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
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

/// When something in a folder was last changed.
struct NewestCheckpoint {
  /// Since the Unix epoch, by the clock of the file system; nothing: the folder is empty.
  std::optional<std::chrono::nanoseconds> at;
  bool is_whole = true;  ///< every name was looked at that could be newer
};
/// Looks at the files of this folder, and at those of the folders in it that were changed last,
/// over so many levels; 1000 names in each. Not for a loop.
NewestCheckpoint newest_checkpoint(const std::string& path, int levels = 4);

}  // namespace train
