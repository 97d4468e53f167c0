// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/fitness/allreduce_groups.hpp"
#include "launcher/fitness/verdict.hpp"

namespace train {

/// What was measured of NCCL on checked hosts.
struct AllReduceCheck {
  std::vector<std::size_t> hosts;  ///< by host of the task: index of the checked hosts
  std::vector<int> host_of_rank;   ///< hosts of the task
  std::vector<int> gpu_of_rank;    ///< index on its host
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

/// Judges what ranks have measured: by itself what fails and what adds wrong, else by others of the
/// kind. Findings are by host.
///
/// A GPU's copies are held against the median of three and more GPUs of its name, the all-reduce
/// inside a host against that of three and more hosts with as many of the same: less than 0.6 of it
/// is unfit (PCIe that has lost half of its lanes, NVLink that has become PCIe). Pairs of hosts are
/// judged as links are (`judge_links`).
std::vector<HostFinding> judge_allreduce(const AllReduceCheck& check,
                                         const std::vector<CheckedHost>& hosts);

/// What was measured, in lines that are not escaped; none: nothing was.
std::vector<std::string> allreduce_text(const AllReduceCheck& check,
                                        const std::vector<CheckedHost>& hosts);

}  // namespace train
