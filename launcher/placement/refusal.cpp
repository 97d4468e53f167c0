// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/placement/changes.hpp"
#include "launcher/placement/explanation.hpp"
#include "launcher/placement/fitting_counts.hpp"
#include "launcher/placement/host_hints.hpp"
#include "launcher/placement/host_search.hpp"

namespace train {
namespace {

std::string unit_of(const ExperimentConfig& experiment) {
  if (experiment.needs.slots == Quantity::of(1)) return {};
  return experiment.counts_slots && !experiment.needs.slots.is_zero() ? "slots" : "workers";
}

// "worker" of "workers".
std::string singular(const std::string& unit) {
  return unit.substr(0, std::max<std::size_t>(unit.size(), 1) - 1);
}

// "2 slots, 8 CPUs and 2 licence of "
std::string amounts_of(const Holder& holder) {
  std::vector<std::string> amounts;
  if (!holder.slots.is_zero()) amounts.push_back(counted(to_string(holder.slots), "slot"));
  if (!holder.cpus.is_zero()) amounts.push_back(counted(to_string(holder.cpus), "CPU"));
  if (holder.memory > 0)
    amounts.push_back(
        fmt::format("{:.3g} GiB of memory", static_cast<double>(holder.memory) / (1u << 30)));
  constexpr std::size_t most_amounts = 6;
  for (const auto& [name, amount] : holder.custom)
    if (amounts.size() < most_amounts) amounts.push_back(to_string(amount) + " " + name);
  std::string text;
  for (std::size_t i = 0; i < amounts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == amounts.size() ? " and " : ", ") + amounts[i];
  return text.empty() ? text : text + " of ";
}

// ", for 12 min"
std::string since(std::int64_t held_ms) {
  if (held_ms == 0) return {};
  return ", for " + duration_text(std::chrono::milliseconds(held_ms));
}

}  // namespace

std::vector<Holder> holders_of(const HostInventory& inventory, const std::vector<int>& hosts,
                               const Occupancy& occupancy) {
  std::unordered_map<std::string_view, int> place_of;
  for (const int index : hosts)
    place_of.emplace(inventory.hosts[static_cast<std::size_t>(index)].name, index);
  std::map<std::string, Holder> by_name;
  std::map<std::string, std::set<int>> places_of;  // by name as well
  for (const HostUse& use : occupancy) {
    const auto place = place_of.find(use.host);
    if (place == place_of.end()) continue;
    Holder& holder = by_name[use.holder];
    holder.holder = use.holder;
    for (const auto& [slot, share] : use.slots) holder.slots = holder.slots + share;
    holder.cpus = holder.cpus + use.cpus;
    holder.memory += use.memory;
    // Only names of resources that the host declares: other names come from the holder alone.
    for (const auto& [name, there] :
         inventory.hosts[static_cast<std::size_t>(place->second)].custom)
      if (const auto held = use.custom.find(name); held != use.custom.end())
        holder.custom[name] = holder.custom[name] + held->second;
    holder.held_ms = std::max(holder.held_ms, use.held_ms);
    places_of[use.holder].insert(place->second);
  }
  std::vector<std::pair<int, Holder>> holders;  // with the index of their first host
  for (auto& [name, holder] : by_name) {
    for (const int place : places_of[name])
      holder.hosts.push_back(inventory.hosts[static_cast<std::size_t>(place)].name);
    holders.emplace_back(*places_of[name].begin(), std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Holder> sorted;
  sorted.reserve(holders.size());
  for (auto& [first, holder] : holders) sorted.push_back(std::move(holder));
  return sorted;
}

std::vector<std::string> holder_lines(const std::vector<Holder>& holders) {
  constexpr std::size_t most_holders = 8;
  std::vector<std::string> lines;
  for (const Holder& holder : holders) {
    if (lines.size() == most_holders) break;
    lines.push_back(fmt::format("{} holds {}{}{}", holder.holder, amounts_of(holder),
                                summarize_hosts(holder.hosts, 3), since(holder.held_ms)));
  }
  if (holders.size() > most_holders)
    lines.push_back(fmt::format("and {} more", holders.size() - most_holders));
  return lines;
}

Refusal explain_refusal(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const HostSearch& search) {
  Refusal refusal;
  refusal.reasons = host_hints(experiment, inventory, search);
  refusal.reasons.insert(refusal.reasons.begin(), reason_of(experiment, inventory, search));
  refusal.changes = changes_that_fit(experiment, inventory);
  refusal.nearest = nearest_counts(experiment, search);
  refusal.unit = unit_of(experiment);
  return refusal;
}

Refusal explain_busy(const ExperimentConfig& experiment, const HostInventory& inventory,
                     const HostSearch& search, const Occupancy& occupancy) {
  Refusal refusal{.kind = Refusal::Kind::busy, .reasons = {}, .nearest = {}};
  refusal.reasons.push_back("not now, of what is free: " +
                            reason_of(experiment, inventory, search));
  refusal.holders = holders_of(inventory, search.eligible, occupancy);
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

Error to_error(const Refusal& refusal) {
  Error error =
      make_error(refusal.kind == Refusal::Kind::never ? ErrorClass::never : ErrorClass::busy,
                 refusal.reasons.empty() ? std::string("the experiment does not fit")
                                         : refusal.reasons.front());
  std::vector<std::string> lines;
  if (!refusal.reasons.empty()) lines.assign(refusal.reasons.begin() + 1, refusal.reasons.end());
  for (std::string& line : holder_lines(refusal.holders)) lines.push_back(std::move(line));
  for (const Change& change : refusal.changes)
    lines.push_back("it fits with " + change.options +
                    (change.remark.empty() ? "" : fmt::format(" ({})", change.remark)));
  if (!refusal.nearest.empty()) {
    const bool is_one = refusal.nearest.size() == 1;
    const bool is_singular = refusal.nearest == std::vector<int>{1};
    lines.push_back(fmt::format("nearest {} that {}: {}{}{}", is_one ? "count" : "counts",
                                is_one ? "fits" : "fit", fmt::join(refusal.nearest, ", "),
                                refusal.unit.empty() ? "" : " ",
                                is_singular ? singular(refusal.unit) : refusal.unit));
  }
  return with_hints(std::move(error), std::move(lines));
}

}  // namespace train
