// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/allreduce_groups.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// The NCCL measurements on checked hosts.
struct AllReduceCheck {
  std::vector<std::size_t> hosts;  ///< by host of the task: index into the checked hosts
  std::vector<int> host_of_rank;   ///< the task's host of each rank
  std::vector<int> gpu_of_rank;    ///< GPU index on its host
  std::vector<AllReduceGroup> groups;

  int task_host_of(int rank) const { return host_of_rank[static_cast<std::size_t>(rank)]; }
  std::size_t host_of(int rank) const {
    return hosts[static_cast<std::size_t>(task_host_of(rank))];
  }
  int gpu_of(int rank) const { return gpu_of_rank[static_cast<std::size_t>(rank)]; }
  std::size_t host_count_of(const AllReduceGroup& group) const {
    return hosts_of(group, host_of_rank).size();
  }
};

/// Judges the measurements of ranks: failures and wrong sums by themselves, rates in comparison to
/// others of the same kind. Findings are sorted by host.
///
/// A GPU's copy rates are compared with the median of at least three GPUs with its name, the
/// all-reduce inside a host with the median of at least three hosts with the same GPUs: less than
/// 0.6 of it is unfit (PCIe that has lost half of its lanes, NVLink that has fallen back to PCIe).
/// Pairs of hosts are judged like links (`judge_links`).
std::vector<HostFinding> judge_allreduce(const AllReduceCheck& check,
                                         const std::vector<CheckedHost>& hosts);

/// The measurements as lines, not escaped; empty if nothing was measured.
std::vector<std::string> allreduce_text(const AllReduceCheck& check,
                                        const std::vector<CheckedHost>& hosts);

}  // namespace train
