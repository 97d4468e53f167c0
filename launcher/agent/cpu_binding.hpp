// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

/// A CPU of a host, as its kernel counts.
struct Cpu {
  int number = 0;
  int core = 0;  ///< the same for the SMT siblings of one core, and for no others
  int package = 0;
  int node = 0;  ///< of NUMA

  bool operator==(const Cpu&) const = default;
};

/// What binding ranks takes of a host.
struct CpuTopology {
  std::vector<Cpu> cpus = {};        ///< that the session may use
  std::vector<int> cuda_nodes = {};  ///< NUMA nodes of GPUs, by the numbers of `HostGpus`; -1: none
  std::vector<int> rocm_nodes = {};  ///< likewise

  bool operator==(const CpuTopology&) const = default;
};

/// What of a host's CPUs a rank gets.
struct CpuShare {
  std::vector<int> cpus = {};  ///< ascending; empty: it is not bound
  /// How many it is to compute with, unless something else says so: its even share of whole cores,
  /// at least 1; of ranks that are not bound, 1 where there are several, else 0: not known.
  int threads = 0;
};

struct CpuShares {
  std::vector<CpuShare> ranks;  ///< in the order of the ranks
  /// `exclusive`: some rank would get less than one core, so all are bound as with `node`.
  bool has_too_few_cores = false;
};

/// The CPUs of the ranks of a host. `nodes` are those of each rank's devices; empty: it has none,
/// or nobody knows. Cores are never split, CPUs that the session may not use never given.
///
/// `node`: a rank gets all cores of its nodes. Ranks without known ones are dealt over the nodes,
/// in order and by the number of their cores; where they are fewer than nodes, each gets several.
/// `socket`: the same with the sockets that its nodes are of. `exclusive`: as `node`, but the ranks
/// of a node divide its cores evenly. `auto`: nothing where there is one node. Else, where the
/// trial has the host for itself, `exclusive`, by nodes or by sockets, as long as none of them is
/// left idle and each rank gets a core; and `node` where it has not.
CpuShares share_cpus(const CpuTopology& topology, const std::vector<std::vector<int>>& nodes,
                     CpuBindingRule rule);

/// The NUMA nodes of a rank's GPUs, as its environment names them; ascending.
std::vector<int> nodes_of_devices(const std::vector<EnvironmentEntry>& environment,
                                  const CpuTopology& topology);

}  // namespace train
