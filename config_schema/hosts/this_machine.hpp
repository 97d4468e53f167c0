// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// Facts about the machine that reads the hosts. A machine that is not one of the hosts is not
/// probed: then only `addresses` is filled.
struct ThisMachine {
  struct Gpu {
    int index = 0;     ///< CUDA's number with CUDA_DEVICE_ORDER=PCI_BUS_ID
    std::string type;  ///< Ray's constant: "A100"
  };

  /// Addresses of hosts with transport `auto` that belong to this machine.
  std::set<std::string> addresses;
  int cpus = 1;              ///< usable by ranks, >= 1
  std::uint64_t memory = 0;  ///< bytes
  /// NVIDIA GPUs that ranks may use, in the order of an inherited CUDA_VISIBLE_DEVICES.
  std::vector<Gpu> gpus;
};

/// Settles how hosts are reached: a host with transport `auto` and an address of this machine
/// (`addresses`) gets `local`; every host that is not `local` then gets `remote`, if given, else
/// `command` if it has one. Other hosts lose their command.
HostInventory reached_inventory(HostInventory declared, const std::set<std::string>& addresses,
                                std::optional<TransportKind> remote = {});

/// The hosts of a file, a flag or an allocation, completed: the inventory that plans are made of.
/// - They are reached as in `reached_inventory`.
/// - A `local` host gets this machine's CPUs, memory and GPUs unless it declares them. If this
///   machine has more GPUs than declared, the first ones are used. Declared resources that were not
///   found are kept: the agent reports them.
HostInventory complete_inventory(HostInventory declared, const ThisMachine& machine,
                                 std::optional<TransportKind> remote = {});

}  // namespace train
