// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What was found out about the machine that the hosts are read on. A machine that is none of them
/// is not looked at: only `addresses` counts then.
struct ThisMachine {
  struct Gpu {
    int index = 0;     ///< CUDA's number with CUDA_DEVICE_ORDER=PCI_BUS_ID
    std::string type;  ///< Ray's constant: "A100"
  };

  std::set<std::string> addresses;  ///< of hosts with transport `auto`: those that lead here
  int cpus = 1;                     ///< that ranks may run on, >= 1
  std::uint64_t memory = 0;         ///< bytes
  /// NVIDIA's that ranks may use, in the order of an inherited CUDA_VISIBLE_DEVICES.
  std::vector<Gpu> gpus;
};

/// Hosts with how they are reached: one with transport `auto` and an address of this machine
/// (`addresses`) gets `local`; every host that is not `local` then gets `remote`, where that is
/// given.
HostInventory reached_inventory(HostInventory declared, const std::set<std::string>& addresses,
                                std::optional<TransportKind> remote = {});

/// The hosts of a file, a flag or an allocation, completed: the inventory that plans are made of.
/// - They are reached as `reached_inventory` has it.
/// - A `local` host gets this machine's CPUs, memory and GPUs where it does not declare them. Of
///   more GPUs than it is said to have, the first are its own. What is declared and was not found
///   is left as it is: the agent tells of it.
HostInventory complete_inventory(HostInventory declared, const ThisMachine& machine,
                                 std::optional<TransportKind> remote = {});

}  // namespace train
