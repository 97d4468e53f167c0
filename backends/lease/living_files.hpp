// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"

namespace train {

/// The properties of a task's file without its content.
struct LivingFile {
  std::string name;
  std::int64_t uid = -1;  ///< its owner
  int descriptor = -1;
};

/// How much one look reads of the files of one user's living tasks. Files beyond these limits are
/// skipped; their locks count nevertheless.
inline constexpr int most_files_of_user = 1'024;
inline constexpr std::int64_t most_bytes_of_user = std::int64_t{2} << 20;
inline constexpr int most_unread_of_user = 16;  ///< files that could not be parsed

/// Reads the files of living tasks: their names begin with `prefix` and a user id, which is that of
/// their owner; only the owner may write to them; and they are locked for writing. `take` gets the
/// text of each, and returns whether it could be parsed: a file that is being rewritten may be
/// incomplete, and is read once more. Files longer than `longest` are skipped. False if the folder
/// has so many names that some were not examined. Files skipped for the limits of a user do not
/// count for that, or one user could keep all others from taking leases.
bool read_living_files(
    const LeaseFolder& folder, std::string_view prefix, std::size_t longest,
    const std::function<bool(const LivingFile& file, std::string_view text)>& take);

/// When a file was created, by the kernel: Unix time in nanoseconds; 0 if its file system does not
/// record it.
std::int64_t created_ns(int file);

/// Removes the files that killed tasks of this user have left. Call it only with the host's mutex:
/// older versions create a file while they hold it, and lock the file only then.
void remove_dead_files(const LeaseFolder& folder);

}  // namespace train
