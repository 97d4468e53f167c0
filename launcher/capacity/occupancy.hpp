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

/// What one holder has of one host now. Placement gives none of it away.
struct HostUse {
  std::string host;               ///< its name in the inventory; other hosts are ignored
  std::string holder;             ///< who and what, for people: "task 3f9c of alice"
  std::map<int, Quantity> slots;  ///< share of each slot, by its index; 1 and above: all of it
  Quantity cpus = {};
  std::uint64_t memory = 0;  ///< bytes
  std::map<std::string, Quantity> custom = {};
  std::int64_t held_ms = 0;  ///< for how long; 0: not known

  bool operator==(const HostUse&) const = default;
};

/// All that is held on the hosts of an inventory; empty: every host is idle.
using Occupancy = std::vector<HostUse>;

/// What a trial takes of its hosts, as placement sees it that goes around it.
Occupancy occupancy_of(const ExperimentConfig& experiment, const Trial& trial,
                       const std::string& holder);

/// All that is held of one host, by anybody.
struct HeldOfHost {
  std::map<int, Quantity> slots;  ///< share of each slot, by its index; at most 1
  Quantity cpus;
  std::uint64_t memory = 0;
  std::map<std::string, Quantity> custom;
};

/// An occupancy by host. Hosts that it does not name are idle.
class Holdings {
 public:
  Holdings() = default;
  Holdings(const HostInventory& inventory, const Occupancy& occupancy);

  /// What is held of the host of this index; nullptr when nothing is.
  const HeldOfHost* of(std::size_t host) const {
    const auto found = held_.find(host);
    return found == held_.end() ? nullptr : &found->second;
  }
  bool empty() const { return held_.empty(); }

 private:
  std::unordered_map<std::size_t, HeldOfHost> held_;
};

}  // namespace train
