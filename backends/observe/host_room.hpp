// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A limit of a host that applies to ranks: how much they need, and how much is used already.
struct RoomLimit {
  std::string needs;    ///< as the start of a sentence: "its 16 ranks take 56 descriptors"
  std::string used_by;  ///< to which the limit applies: "the agent", "user 1000"
  std::string name;     ///< of the limit, with the command that shows it: "open files, ulimit -Hn"
  std::int64_t needed = 0;
  std::int64_t used = 0;
  std::int64_t most = 0;
  std::string hint;
};

/// An error for each limit that is too low for the ranks, with the numbers and its name.
std::vector<Diagnostic> shortages(const std::vector<RoomLimit>& limits);

/// The limits of this host that can be found out, for this number of ranks and held ports:
/// descriptors of this process; processes of this user (without those in other containers, which
/// cannot be seen), of its control groups, and of the machine. Files and processes that ranks will
/// open and start themselves are not known and not counted.
std::vector<RoomLimit> room_limits(int ranks, int ports);

/// The limits of the pids control groups, from the text of /proc/self/cgroup and the folder where
/// the groups are mounted: only of groups that have a limit, the innermost first. `needed` stays 0.
std::vector<RoomLimit> cgroup_limits(const std::string& groups, const std::string& mounted_in);

}  // namespace train
