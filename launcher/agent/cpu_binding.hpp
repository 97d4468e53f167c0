// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

/// A CPU of a host, as numbered by its kernel.
struct Cpu {
  int number = 0;
  int core = 0;  ///< the same for the SMT siblings of one core, and for no others
  int package = 0;
  int node = 0;  ///< of NUMA

  bool operator==(const Cpu&) const = default;
};

/// The facts about a host that CPU binding needs.
struct CpuTopology {
  std::vector<Cpu> cpus = {};        ///< that the session may use
  std::vector<int> cuda_nodes = {};  ///< NUMA nodes of GPUs, by the numbers of `HostGpus`; -1: none
  std::vector<int> rocm_nodes = {};  ///< likewise

  bool operator==(const CpuTopology&) const = default;
};

/// The share of a host's CPUs that a rank gets.
struct CpuShare {
  std::vector<int> cpus = {};  ///< ascending; empty: it is not bound
  /// How many threads the rank should compute with by default: its even share of whole cores, at
  /// least 1. For unbound ranks: 1 if there are several, else 0 (not known).
  int threads = 0;
};

struct CpuShares {
  std::vector<CpuShare> ranks;  ///< in the order of the ranks
  /// `exclusive`: some rank would get less than one core, so all are bound as with `node`.
  bool has_too_few_cores = false;
};

/// What the ranks of a host have there, each list in the order of the ranks.
struct RanksOnHost {
  /// The NUMA nodes of each rank's devices; empty: it has no devices, or their nodes are unknown.
  std::vector<std::vector<int>> nodes = {};
  /// The NUMA nodes of each slot of the host; likewise. The slots are all GPUs of the host, or its
  /// places, and not only those of the trial. Empty: they are unknown.
  std::vector<std::vector<int>> nodes_of_slots = {};
  /// The slots of each rank, as positions in `nodes_of_slots`.
  std::vector<std::vector<int>> slots = {};
};

/// The CPUs of each rank of a host. Cores are never split; CPUs that the session may not use
/// are never given.
///
/// `node`: a rank gets all cores of its nodes. Ranks without known nodes are dealt over the nodes
/// in order, in proportion to their cores; if there are fewer such ranks than nodes, each gets
/// several nodes. `socket`: the same with the sockets of those nodes. `exclusive`: as `node`, but
/// the ranks of a node divide its cores evenly. If the trial shares the host, the slots of a node
/// divide its cores instead, and a rank gets those of its slots: other trials, which have other
/// slots, then have other cores. `auto`: no binding on a host with one node.
/// Otherwise, if the trial has the whole host: `exclusive` by nodes, else by sockets, as long as
/// none of them is left idle and each rank gets a core. If the trial shares the host: `node`.
CpuShares share_cpus(const CpuTopology& topology, const RanksOnHost& ranks,
                     const CpuBindingRule& rule);

/// The numbers of a rank's own devices, from its environment with the values that are known only at
/// launch: those of the list `visible`, such as "CUDA_VISIBLE_DEVICES", at the positions that
/// TRAIN_DEVICE_INDICES has. Empty: it has none of them.
std::vector<int> devices_in(const std::vector<EnvironmentEntry>& environment, const char* visible);

/// What these ranks have on a host. `environments`: of each rank, with the values that are known
/// only at launch; they name the rank's GPUs. If some rank has no GPU there, the slots are the
/// places that `rule` has.
RanksOnHost ranks_on_host(const std::vector<std::vector<EnvironmentEntry>>& environments,
                          const CpuTopology& topology, const CpuBindingRule& rule);

}  // namespace train
