// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/lease/lease_folder.hpp"

namespace train {

/// What is known of a task's file without its words.
struct LivingFile {
  std::string name;
  std::int64_t uid = -1;  ///< its owner
  int descriptor = -1;
};

/// What one look reads of the files of one user's tasks that live, whatever they leave there. More
/// is passed over; the locks that they have count all the same.
inline constexpr int most_files_of_user = 1'024;
inline constexpr std::int64_t most_bytes_of_user = std::int64_t{2} << 20;
inline constexpr int most_unread_of_user = 16;  ///< that nobody understands

/// Reads the files of tasks that live: their names begin with `prefix`, then comes their user's
/// number, which is that of their owner, who alone may write to them, and they are locked for
/// writing. `take` gets the text of each, and says whether it is understood: of one that is being
/// written anew a reader may see a half, and it is read once more. What is longer than `longest` is
/// not read. False where the folder has so many names that some were not looked at; what is passed
/// over of one user is no reason, or one could keep all others from taking anything.
bool read_living_files(
    const LeaseFolder& folder, std::string_view prefix, std::size_t longest,
    const std::function<bool(const LivingFile& file, std::string_view text)>& take);

/// Since when a file is there, by the kernel: Unix time; 0 where its file system does not keep it.
std::int64_t here_since_ns(int file);

/// Removes what this user's tasks have left that were killed. Only with the host's mutex: older
/// programs make a file with it, and lock that then.
void remove_dead_files(const LeaseFolder& folder);

}  // namespace train
