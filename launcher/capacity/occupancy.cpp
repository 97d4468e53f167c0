// SPDX-License-Identifier: Apache-2.0
#include "launcher/capacity/occupancy.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "launcher/plan/host_take.hpp"

namespace train {

Occupancy occupancy_of(const ExperimentConfig& experiment, const Trial& trial,
                       const std::string& holder) {
  Occupancy all;
  all.reserve(trial.hosts.size());
  for (std::size_t i = 0; i < trial.hosts.size(); ++i) {
    HostTake take = take_of(experiment, trial, static_cast<int>(i));
    all.push_back({trial.hosts[i].host.name, holder, std::move(take.slots), take.cpus, take.memory,
                   std::move(take.custom)});
  }
  return all;
}

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
