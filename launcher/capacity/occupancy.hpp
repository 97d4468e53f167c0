// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/quantity.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// What one holder has of one host now. Placement does not use these parts.
struct HostUse {
  std::string host;               ///< its name in the inventory; other hosts are ignored
  std::string holder;             ///< text for people: "task 3f9c of alice"
  std::map<int, Quantity> slots;  ///< share of each slot, by its index; 1 and above: the whole slot
  Quantity cpus = {};
  std::uint64_t memory = 0;  ///< bytes
  std::map<std::string, Quantity> custom = {};
  std::int64_t held_ms = 0;  ///< duration so far; 0: unknown

  bool operator==(const HostUse&) const = default;
};

/// All that others hold on the hosts of an inventory; empty: every host is idle.
using Occupancy = std::vector<HostUse>;

/// The parts of hosts that a trial takes, so that placement can avoid them.
Occupancy occupancy_of(const ExperimentConfig& experiment, const Trial& trial,
                       const std::string& holder);

/// All that is held of one host, by all holders together.
struct HeldOfHost {
  std::map<int, Quantity> slots;  ///< share of each slot, by its index; at most 1
  Quantity cpus;
  std::uint64_t memory = 0;
  std::map<std::string, Quantity> custom;
};

/// An occupancy by host. Hosts without an entry are idle.
class Holdings {
 public:
  Holdings() = default;
  Holdings(const HostInventory& inventory, const Occupancy& occupancy);

  /// What is held of the host with this index; nullptr if nothing is.
  const HeldOfHost* of(std::size_t host) const {
    const auto found = held_.find(host);
    return found == held_.end() ? nullptr : &found->second;
  }
  bool empty() const { return held_.empty(); }

 private:
  std::unordered_map<std::size_t, HeldOfHost> held_;
};

}  // namespace train
