// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "launcher/fitness/allreduce_report.hpp"
#include "launcher/fitness/link_report.hpp"

namespace train {

// Which ranks of a task measure NCCL together, one after the other. `host_of_rank` says on which of
// the task's hosts each rank is.

/// The ranks of each host, by host.
std::vector<std::vector<int>> groups_of_hosts(const std::vector<int>& host_of_rank);
/// The ranks of these hosts, ascending.
std::vector<int> ranks_of(const std::vector<int>& hosts, const std::vector<int>& host_of_rank);
std::vector<std::vector<int>> groups_of_pairs(const std::vector<std::pair<int, int>>& pairs,
                                              const std::vector<int>& host_of_rank);
/// The hosts of a group, ascending, each once.
std::vector<int> hosts_of(const AllReduceGroup& group, const std::vector<int>& host_of_rank);

/// The hosts that have measured by themselves, ascending.
std::vector<int> able_hosts(const std::vector<AllReduceGroup>& groups,
                            const std::vector<int>& host_of_rank);
/// Three rounds at most of pairs of hosts, as `link_round` has them; none of two hosts, which are
/// all.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(const std::vector<int>& hosts);
/// What was measured between two of three and more able hosts, as of a link: the bus bandwidth is
/// its pace, and both directions are one. Of a pair that was measured twice the better counts, as
/// measured alone.
std::vector<LinkFacts> pairs_as_links(const std::vector<AllReduceGroup>& groups,
                                      const std::vector<int>& host_of_rank);
/// The pairs of which the bus bandwidth is little (`carries_little`), eight at most.
std::vector<std::pair<int, int>> slow_pairs(const std::vector<AllReduceGroup>& groups,
                                            const std::vector<int>& host_of_rank);
/// Whether no group of these hosts had trouble.
bool have_all_measured(const std::vector<AllReduceGroup>& groups, const std::vector<int>& hosts,
                       const std::vector<int>& host_of_rank);

/// The size with the greatest bus bandwidth, of a group that had no trouble, and this in bytes per
/// second.
struct BusBandwidth {
  std::uint64_t bytes = 0;
  double rate = 0;
};
BusBandwidth best_of(const AllReduceReport& report);

}  // namespace train
