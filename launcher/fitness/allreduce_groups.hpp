// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "launcher/fitness/allreduce_report.hpp"
#include "launcher/fitness/link_report.hpp"

namespace train {

// Which ranks of a task measure NCCL together; the groups measure one after the other.
// `host_of_rank` is the task's host of each rank.

/// The ranks of each host, by host.
std::vector<std::vector<int>> groups_of_hosts(const std::vector<int>& host_of_rank);
/// The ranks of these hosts, ascending.
std::vector<int> ranks_of(const std::vector<int>& hosts, const std::vector<int>& host_of_rank);
std::vector<std::vector<int>> groups_of_pairs(const std::vector<std::pair<int, int>>& pairs,
                                              const std::vector<int>& host_of_rank);
/// The hosts of a group, ascending and without duplicates.
std::vector<int> hosts_of(const AllReduceGroup& group, const std::vector<int>& host_of_rank);

/// The hosts that have measured without trouble by themselves, ascending.
std::vector<int> able_hosts(const std::vector<AllReduceGroup>& groups,
                            const std::vector<int>& host_of_rank);
/// At most three rounds of pairs of hosts, as in `link_round`. None for two hosts: their only pair
/// is the group of all.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(const std::vector<int>& hosts);
/// The measurements between pairs of three or more able hosts, as links: the bus bandwidth is the
/// pace, equal in both directions. For a pair that was measured twice, the better result counts, as
/// one that was measured alone.
std::vector<LinkFacts> pairs_as_links(const std::vector<AllReduceGroup>& groups,
                                      const std::vector<int>& host_of_rank);
/// The pairs with a low bus bandwidth (`carries_little`), at most eight.
std::vector<std::pair<int, int>> slow_pairs(const std::vector<AllReduceGroup>& groups,
                                            const std::vector<int>& host_of_rank);
/// Whether all groups of these hosts have measured without trouble.
bool have_all_measured(const std::vector<AllReduceGroup>& groups, const std::vector<int>& hosts,
                       const std::vector<int>& host_of_rank);

/// The message size with the greatest bus bandwidth of a group without trouble, and that bandwidth
/// in bytes per second.
struct BusBandwidth {
  std::uint64_t bytes = 0;
  double rate = 0;
};
BusBandwidth best_of(const AllReduceReport& report);

}  // namespace train
