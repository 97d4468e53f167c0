// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/refusal.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "launcher/placement/explanation.hpp"
#include "launcher/placement/nearest.hpp"
#include "launcher/placement/single_change.hpp"

namespace train {
namespace {

// Who holds something of the hosts that the experiment could use, in order of their hosts.
std::vector<Holder> holders_of(const HostInventory& inventory, const HostSearch& search,
                               const Occupancy& occupancy) {
  std::unordered_map<std::string_view, int> place_of;
  for (const int index : search.eligible)
    place_of.emplace(inventory.hosts[static_cast<std::size_t>(index)].name, index);
  std::map<std::string, std::map<int, Quantity>> held;  // by holder, by host
  for (const HostUse& use : occupancy) {
    const auto host = place_of.find(use.host);
    if (host == place_of.end()) continue;
    Quantity& slots = held[use.holder][host->second];
    for (const auto& [slot, share] : use.slots) slots = slots + share;
  }
  std::vector<std::pair<int, Holder>> holders;  // with their first host
  for (const auto& [name, hosts] : held) {
    Holder holder{.holder = name, .hosts = {}, .slots = {}};
    for (const auto& [index, slots] : hosts) {
      holder.hosts.push_back(inventory.hosts[static_cast<std::size_t>(index)].name);
      holder.slots = holder.slots + slots;
    }
    holders.emplace_back(hosts.begin()->first, std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Holder> sorted;
  sorted.reserve(holders.size());
  for (auto& [first, holder] : holders) sorted.push_back(std::move(holder));
  return sorted;
}

std::string unit_of(const ExperimentConfig& experiment) {
  if (experiment.needs.slots == Quantity::of(1)) return {};
  return experiment.counts_slots && !experiment.needs.slots.is_zero() ? "slots" : "workers";
}

}  // namespace

Refusal explain_refusal(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const HostSearch& search) {
  Refusal refusal;
  refusal.reasons = Explanation(experiment, inventory, search).reasons();
  refusal.changes = changes_that_fit(experiment, inventory);
  refusal.nearest = nearest_counts(experiment, search);
  refusal.unit = unit_of(experiment);
  return refusal;
}

Refusal explain_busy(const ExperimentConfig& experiment, const HostInventory& inventory,
                     const HostSearch& search, const Occupancy& occupancy) {
  Refusal refusal{.kind = Refusal::Kind::busy, .reasons = {}, .nearest = {}};
  refusal.reasons.push_back("not now: " +
                            Explanation(experiment, inventory, search).first_reason());
  refusal.holders = holders_of(inventory, search, occupancy);
  refusal.nearest = nearest_counts(experiment, search);
  refusal.unit = unit_of(experiment);
  return refusal;
}

Refusal refuse(const ExperimentConfig& experiment, const HostSearch& search, std::string reason) {
  return {.kind = Refusal::Kind::never,
          .reasons = {std::move(reason)},
          .nearest = nearest_counts(experiment, search),
          .unit = unit_of(experiment)};
}

}  // namespace train
