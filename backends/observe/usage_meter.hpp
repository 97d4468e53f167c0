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

/// Measures the CPU time and memory of ranks, each with all its descendants, from /proc. Reads only
/// the processes below the parent of the ranks, their subreaper. For one thread at a time.
///
/// A process that has left its rank (a daemon) is assigned by its session, or by an earlier look. A
/// process that began and ended between two looks counts only if its parent has waited for it.
class UsageMeter {
 public:
  /// Sets a cgroup of version 2 that contains only one rank and the commands beside it: its CPU
  /// time counts as the rank's, including that of ended processes. Its memory is not used, because
  /// it includes the page cache. Empty: there is no such cgroup.
  void count_cgroup(std::string path) { cgroup_ = std::move(path); }

  /// The usage of these ranks, given by their pids, until now; skips ranks that are gone. Except
  /// for the current memory, no number of a rank ever decreases.
  std::vector<UsageOfRank> look(const std::map<int, int>& rank_of_process);

  /// How many processes the last look has read.
  std::size_t processes_read() const { return processes_read_; }

 private:
  using Processes = std::map<int, ProcessStatus>;
  struct Rank {
    std::uint64_t start = 0;  ///< of its process
    nanoseconds ended{0};     ///< CPU time of ended processes that had left it
    RankUsage usage;
  };
  struct Member {
    int rank = 0;
    std::uint64_t start = 0;
    nanoseconds cpu{0};
    bool has_left = false;  ///< its parent does not belong to the rank
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
