// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What `read_slurm_partition` reads: `sinfo --noheader --Node --format=` this.
inline constexpr const char* slurm_node_format = "%N|%P|%t|%c|%m|%G|%l|%E";

/// What is wanted of a partition.
struct PartitionWish {
  std::string name = {};              ///< empty: the default partition
  std::string gpu_type = {};          ///< in any case; empty: any
  std::string accelerator_type = {};  ///< Ray's constant, if no `gpu_type` is given; empty: any
  std::optional<int> slots_per_node = {};  ///< at most so many of a node
  /// Slots are needed: where any node has GPUs, these are meant, and nodes without count for none.
  bool needs_slots = true;
};

/// A partition of a Slurm cluster, as hosts for a plan: with the CPUs and memory of its nodes;
/// slots are the GPUs, and the CPUs where there are none. Which of its nodes a job gets is up to
/// Slurm.
struct SlurmPartition {
  std::string name;
  HostInventory hosts;  ///< nodes that take jobs, now or when others end
  /// Nodes that take none before somebody mends them, with the reason: "drained: disk".
  std::vector<Host> away;
  std::map<std::string, std::string> away_why;  ///< by name
  /// How the cluster spells the wanted type of GPU; empty: none is wanted.
  std::string gpu_type;
  std::optional<std::chrono::minutes> limit;  ///< of the time of its jobs; nothing: none
};

/// Reads what `sinfo` lists. Lines that are not understood are passed over. Class `config` if there
/// is no such partition, or no such GPU in it; `never` if it has no nodes.
Result<SlurmPartition> read_slurm_partition(std::string_view sinfo, const PartitionWish& wish);

}  // namespace train
