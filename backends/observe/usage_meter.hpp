// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/posix/proc.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// Measures what ranks use, each with all that it has started, by what /proc says of processes:
/// those below the parent of the ranks, their subreaper, and no others of the host. For one thread
/// at a time.
///
/// What has left its rank (a daemon) is known by the session of that, or by an earlier look. What
/// began and ended between two looks counts where its parent has waited for it.
class UsageMeter {
 public:
  /// This cgroup, of version 2, is of one rank alone, and of the commands beside it: its CPU time
  /// is the rank's, whatever has become of the processes. Not so its memory, which has what was
  /// read of files as well. Empty: there is none.
  void count_cgroup(std::string path) { cgroup_ = std::move(path); }

  /// What these ranks use by now, which are given by their processes; those that are gone are left
  /// out. No figure of a rank is ever less than before, but for that of its memory now.
  std::vector<UsageOfRank> look(const std::map<int, int>& rank_of_process);

  /// How many processes the last look has read.
  std::size_t processes_read() const { return processes_read_; }

 private:
  using Processes = std::map<int, ProcessStatus>;
  struct Rank {
    std::uint64_t start = 0;  ///< of its process
    nanoseconds ended{0};     ///< CPU time of what had left it, and has ended
    RankUsage usage;
  };
  struct Member {
    int rank = 0;
    std::uint64_t start = 0;
    nanoseconds cpu{0};
    bool has_left = false;  ///< its parent is none of the rank's
  };
  struct Sum {
    nanoseconds cpu{0};
    std::uint64_t memory = 0;
  };

  Processes processes_of(const std::map<int, int>& rank_of_process) const;
  std::map<int, Member> members_among(const Processes& processes,
                                      const std::map<int, int>& rank_of_process) const;
  void count_ended(const std::map<int, Member>& members);
  nanoseconds cpu_of_cgroup() const;

  std::string cgroup_;
  std::map<int, Rank> ranks_;
  std::map<int, Member> members_;  ///< by process, at the last look
  std::size_t processes_read_ = 0;
};

}  // namespace train
