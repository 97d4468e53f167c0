// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/host_search.hpp"

#include <algorithm>
#include <limits>

namespace train {
namespace {

Room empty_room(const Host& host, const WorkerNeeds& needs) {
  const SlotSupply supply = slot_supply(host, needs);
  // A host that nothing limits is the last choice of a best fit.
  const bool is_open = supply.kind == SlotKind::beside && supply.use.is_zero();
  return {.workers = unlimited_workers,
          .fill = supply.kind == SlotKind::beside ? 0 : workers_that_fill(supply),
          .free = is_open ? std::numeric_limits<std::int64_t>::max() : supply.size.parts(),
          .use = supply.use.parts()};
}

// Whether the hosts have too little in all, however the workers are put on them.
bool is_too_little(const std::vector<Room>& rooms, int workers, const PlacementRule& rule) {
  std::int64_t sum = 0;
  int largest = 0;
  int usable = 0;
  for (const Room& room : rooms) {
    sum += room.workers;
    largest = std::max(largest, room.workers);
    usable += room.workers > 0 ? 1 : 0;
  }
  if (rule.is_one_host()) return largest < workers;
  if (rule.policy == PlacementPolicy::strict_spread) return usable < workers;
  return sum < workers;
}

bool picks_hosts(const Constraint& constraint) {
  return constraint.kind == Constraint::Kind::pool ||
         constraint.kind == Constraint::Kind::accelerator_type;
}

// Hosts that pool and type leave.
std::vector<int> eligible_hosts(const std::vector<Constraint>& constraints,
                                const ExperimentConfig& experiment,
                                const HostInventory& inventory) {
  std::vector<int> eligible;
  for (std::size_t h = 0; h < inventory.hosts.size(); ++h) {
    const bool fits =
        std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& constraint) {
          return !picks_hosts(constraint) ||
                 workers_allowed(constraint, inventory.hosts[h], experiment) > 0;
        });
    if (fits) eligible.push_back(static_cast<int>(h));
  }
  return eligible;
}

void tighten(std::vector<Room>& rooms, const Constraint& constraint,
             const ExperimentConfig& experiment, const HostInventory& inventory) {
  for (std::size_t h = 0; h < rooms.size(); ++h)
    rooms[h].workers =
        std::min(rooms[h].workers, workers_allowed(constraint, inventory.hosts[h], experiment));
}

}  // namespace

HostSearch search_hosts(const ExperimentConfig& experiment, const HostInventory& inventory) {
  const PlacementRule rule = rule_of(experiment);
  HostSearch search;
  search.constraints = constraints_of(experiment, inventory);
  search.eligible = eligible_hosts(search.constraints, experiment, inventory);
  search.failed = search.constraints.size();
  for (const Host& host : inventory.hosts)
    search.rooms.push_back(empty_room(host, experiment.needs));
  for (std::size_t i = 0; i < search.constraints.size(); ++i) {
    const Constraint& constraint = search.constraints[i];
    tighten(search.rooms, constraint, experiment, inventory);
    // After a failure the rooms go on to be tightened: what else would fit must obey all of them.
    if (search.failed < i) continue;
    search.is_shortage = is_too_little(search.rooms, experiment.workers, rule);
    if (!search.is_shortage && picks_hosts(constraint)) continue;
    auto counts =
        search.is_shortage ? std::nullopt : choose_hosts(search.rooms, experiment.workers, rule);
    search.counts = counts.value_or(std::vector<int>());
    if (counts) continue;
    search.failed = i;
    search.failed_rooms = search.rooms;
  }
  return search;
}

}  // namespace train
