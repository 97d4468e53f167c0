// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/host_search.hpp"

#include <algorithm>
#include <limits>

namespace train {
namespace {

Room empty_room(const HostView& view, const WorkerNeeds& needs) {
  const SlotSupply supply = slot_supply(view.host, needs);
  const Quantity free = free_slots(view.host, supply, view.held);
  // A best fit chooses an unlimited host last.
  const bool is_open = supply.kind == SlotKind::beside && supply.use.is_zero();
  const bool is_idle = free == supply.size;
  return {.workers = unlimited_workers,
          .fill = supply.has_slots() && is_idle ? workers_that_fill(supply) : 0,
          .free = is_open ? std::numeric_limits<std::int64_t>::max() : free.parts(),
          .use = supply.use.parts()};
}

// Whether the hosts have too little in total, for any distribution of workers.
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

// Applies the constraints in their order, and finds the first without a placement.
class Search {
 public:
  Search(const ExperimentConfig& experiment, const HostInventory& inventory,
         const Holdings& holdings)
      : experiment_(experiment), inventory_(inventory), holdings_(holdings) {
    found_.constraints = constraints_of(experiment, inventory);
    found_.failed = found_.constraints.size();
    found_.selected = select_workers(experiment, inventory);
    if (experiment.slices) found_.slices = slices_of(inventory);
    find_eligible();
    found_.rooms.reserve(inventory.hosts.size());
    for (std::size_t h = 0; h < inventory.hosts.size(); ++h)
      found_.rooms.push_back(empty_room(view(h), experiment.needs));
  }

  HostSearch run() {
    for (std::size_t i = 0; i < found_.constraints.size(); ++i) {
      tighten(found_.constraints[i]);
      // The rooms are still reduced after a failure: other counts must satisfy every constraint.
      if (found_.failed < i) continue;
      const PlacementRule rule = rule_at(i);
      found_.is_shortage = is_too_little(found_.rooms, experiment_.workers, rule);
      if (!found_.is_shortage && found_.constraints[i].picks_hosts()) continue;
      auto counts = found_.is_shortage ? std::nullopt : placed(found_.constraints[i], rule);
      found_.counts = counts.value_or(std::vector<int>());
      if (counts) continue;
      found_.failed = i;
      found_.failed_rooms = found_.rooms;
    }
    return std::move(found_);
  }

 private:
  HostView view(std::size_t host) const { return {inventory_.hosts[host], holdings_.of(host)}; }

  // Finds the hosts that satisfy pool, type and labels.
  void find_eligible() {
    for (std::size_t h = 0; h < inventory_.hosts.size(); ++h) {
      const bool fits = std::all_of(found_.constraints.begin(), found_.constraints.end(),
                                    [&](const Constraint& constraint) {
                                      return !constraint.picks_hosts() ||
                                             workers_allowed(constraint, view(h), experiment_) > 0;
                                    });
      if (fits) found_.eligible.push_back(static_cast<int>(h));
    }
  }

  void tighten(const Constraint& constraint) {
    for (std::size_t h = 0; h < found_.rooms.size(); ++h) {
      Room& room = found_.rooms[h];
      if (constraint.kind == Constraint::Kind::trainer)
        make_room_for_trainer(room, view(h));
      else
        room.workers = std::min(room.workers, workers_allowed(constraint, view(h), experiment_));
    }
  }

  void make_room_for_trainer(Room& room, const HostView& view) {
    room.beside_trainer =
        room.workers > 0 ? workers_beside_trainer(view, experiment_, found_.constraints) : -1;
    const SlotSupply supply = slot_supply(view.host, experiment_.needs);
    const bool is_idle = free_slots(view.host, supply, view.held) == supply.size;
    room.fill_beside_trainer =
        is_idle ? workers_that_fill_beside_trainer(view.host, experiment_) : 0;
  }

  // The rule without the parts that later constraints add.
  PlacementRule rule_at(std::size_t index) const {
    PlacementRule rule = rule_of(experiment_);
    const auto end = found_.constraints.begin() + static_cast<std::ptrdiff_t>(index) + 1;
    rule.has_trainer = std::any_of(
        found_.constraints.begin(), end,
        [](const Constraint& constraint) { return constraint.kind == Constraint::Kind::trainer; });
    // The trainer may fill a host that the workers alone do not fill.
    const bool is_automatic = rule.policy == PlacementPolicy::automatic;
    const bool is_before_trainer = !experiment_.trainer.empty() && !rule.has_trainer;
    if (is_automatic && is_before_trainer) rule.policy = PlacementPolicy::spread;
    // With slices, the policy is applied to the slices: the last constraint.
    if (experiment_.slices) rule.policy = PlacementPolicy::spread;
    if (experiment_.slices) rule.is_single_node = false;
    return rule;
  }

  std::optional<std::vector<int>> placed(const Constraint& constraint,
                                         const PlacementRule& rule) const {
    if (constraint.kind == Constraint::Kind::slices)
      return choose_slices(found_.slices, *experiment_.slices, found_.rooms, rule_of(experiment_));
    if (!found_.selected.are_alike())
      return choose_for_selected(found_.rooms, found_.selected, rule);
    return choose_hosts(found_.rooms, experiment_.workers, rule);
  }

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  const Holdings& holdings_;
  HostSearch found_;
};

}  // namespace

HostSearch search_hosts(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const Holdings& holdings) {
  return Search(experiment, inventory, holdings).run();
}

std::optional<std::vector<int>> place_again(const ExperimentConfig& experiment,
                                            const HostSearch& search, int workers) {
  const PlacementRule rule = rule_of(experiment);
  if (!search.selected.are_alike())
    return workers == experiment.workers ? choose_for_selected(search.rooms, search.selected, rule)
                                         : std::nullopt;
  if (!experiment.slices) return choose_hosts(search.rooms, workers, rule);
  SliceNeeds needs = *experiment.slices;
  const int of_a_slice = needs.hosts * needs.workers_per_host;
  if (workers % of_a_slice != 0) return std::nullopt;
  needs.slices = workers / of_a_slice;
  return choose_slices(search.slices, needs, search.rooms, rule);
}

}  // namespace train
