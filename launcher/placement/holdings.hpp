// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/placement/occupancy.hpp"

namespace train {

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
