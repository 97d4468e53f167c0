// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/occupancy.hpp"

#include <algorithm>
#include <string_view>

namespace train {

Holdings::Holdings(const HostInventory& inventory, const Occupancy& occupancy) {
  if (occupancy.empty()) return;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < inventory.hosts.size(); ++i)
    index_of.emplace(inventory.hosts[i].name, i);
  for (const HostUse& use : occupancy) {
    const auto host = index_of.find(use.host);
    if (host == index_of.end()) continue;
    HeldOfHost& held = held_[host->second];
    for (const auto& [slot, share] : use.slots)
      held.slots[slot] = std::min(Quantity::of(1), held.slots[slot] + share);
    held.cpus = held.cpus + use.cpus;
    held.memory += use.memory;
    for (const auto& [name, quantity] : use.custom)
      held.custom[name] = held.custom[name] + quantity;
  }
}

}  // namespace train
