// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A limit of a host that ranks count towards: how much they need, and how much is used already.
struct RoomLimit {
  std::string needs;    ///< of the ranks, as a sentence's begin: "its 16 ranks take 56 descriptors"
  std::string used_by;  ///< whose use counts: "the agent", "user 1000", "control group '/job'"
  std::string name;     ///< of the limit, with the way to see it: "open files, ulimit -Hn"
  std::int64_t needed = 0;
  std::int64_t used = 0;
  std::int64_t most = 0;
  std::string hint;
};

/// An error for each limit that leaves too little room, with the numbers and its name.
std::vector<Diagnostic> shortages(const std::vector<RoomLimit>& limits);

/// The limits of this host that can be known, for so many ranks and held ports: descriptors of this
/// process, processes of this user (without those that other containers run for it, which are not
/// seen), of its control groups, and of the machine. What ranks open and start themselves is not
/// known and not counted.
std::vector<RoomLimit> room_limits(int ranks, int ports);

/// The limits of the pids control groups, from the text of /proc/self/cgroup and the folder that
/// the groups are mounted in: of those that have a limit, the innermost first. `needed` is left at
/// 0.
std::vector<RoomLimit> cgroup_limits(const std::string& groups, const std::string& mounted_in);

}  // namespace train
