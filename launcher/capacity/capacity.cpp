// SPDX-License-Identifier: Apache-2.0
#include "launcher/capacity/capacity.hpp"

#include <algorithm>

#include "config_schema/resources/tpu_topology.hpp"

namespace train {

SlotRoom::SlotRoom(int slots) {
  for (int slot = 0; slot < slots; ++slot) rooms_.emplace_hint(rooms_.end(), Quantity::scale, slot);
}

SlotRoom::SlotRoom(const std::vector<Quantity>& free) {
  for (std::size_t slot = 0; slot < free.size(); ++slot)
    if (!free[slot].is_zero()) rooms_.emplace(free[slot].parts(), static_cast<int>(slot));
}

std::int64_t SlotRoom::count(Quantity quantity) const {
  if (quantity > Quantity::of(1) && !quantity.is_whole()) return 0;
  std::int64_t count = 0;
  std::int64_t whole = 0;
  for (const auto& [room, slot] : rooms_) {
    count += room / quantity.parts();
    whole += room == Quantity::scale ? 1 : 0;
  }
  return quantity < Quantity::of(1) ? count : whole / quantity.whole();
}

std::vector<int> SlotRoom::set_aside(Quantity quantity, Quantity each) {
  if (quantity.is_zero()) return {};
  if (quantity >= Quantity::of(1)) {
    if (!quantity.is_whole() || count(Quantity::of(1)) < quantity.whole()) return {};
    const auto first = std::prev(rooms_.end(), static_cast<std::ptrdiff_t>(quantity.whole()));
    std::vector<int> taken;
    for (auto slot = first; slot != rooms_.end(); ++slot) taken.push_back(slot->second);
    rooms_.erase(first, rooms_.end());
    return taken;
  }
  const auto served = [&](std::int64_t room) {
    if (each.is_zero()) return std::int64_t{0};
    return each < Quantity::of(1) ? room / each.parts()
                                  : static_cast<std::int64_t>(room == Quantity::scale);
  };
  auto best = rooms_.end();
  std::int64_t least = 0;
  for (auto slot = rooms_.lower_bound({quantity.parts(), 0}); slot != rooms_.end(); ++slot) {
    const std::int64_t cost = served(slot->first) - served(slot->first - quantity.parts());
    const bool is_better =
        best == rooms_.end() || cost < least || (cost == least && slot->first == best->first);
    if (is_better) best = slot, least = cost;
  }
  if (best == rooms_.end()) return {};
  const auto [room, slot] = *best;
  rooms_.erase(best);
  if (room > quantity.parts()) rooms_.emplace(room - quantity.parts(), slot);
  return {slot};
}

std::vector<int> SlotRoom::take(Quantity quantity) {
  std::vector<int> taken;
  if (quantity.is_zero()) return taken;
  if (quantity > Quantity::of(1) && !quantity.is_whole()) return taken;
  auto slot = rooms_.lower_bound({std::min(quantity.parts(), Quantity::scale), 0});
  if (quantity < Quantity::of(1)) {
    if (slot == rooms_.end()) return taken;
    const auto [room, index] = *slot;
    rooms_.erase(slot);
    if (room > quantity.parts()) rooms_.emplace(room - quantity.parts(), index);
    taken.push_back(index);
    return taken;
  }
  const std::int64_t count = quantity.whole();
  auto end = slot;
  for (std::int64_t i = 0; i < count; ++i, ++end) {
    if (end == rooms_.end()) return {};
    taken.push_back(end->second);
  }
  rooms_.erase(slot, end);
  return taken;
}

namespace {

int clamp_workers(std::int64_t workers) {
  return static_cast<int>(std::min<std::int64_t>(workers, unlimited_workers));
}

int share_count(Quantity supply, Quantity use) {
  return use.is_zero() ? unlimited_workers : clamp_workers(supply.parts() / use.parts());
}

// Workers with a fraction share a device; the part of it that is too small for another worker stays
// idle.
int workers_by_slots(const SlotSupply& supply) {
  switch (supply.kind) {
    case SlotKind::missing:
      return 0;
    case SlotKind::beside:
      return unlimited_workers;
    case SlotKind::cpus:
      return share_count(supply.size, supply.use);
    case SlotKind::devices:
    case SlotKind::places:
      break;
  }
  if (supply.use >= Quantity::of(1)) return share_count(supply.size, supply.use);
  return clamp_workers(supply.size.whole() * share_count(Quantity::of(1), supply.use));
}

Quantity less(Quantity all, Quantity part) { return part < all ? all - part : Quantity(); }

// The host's own index for a slot of its supply: a filter may have removed some slots.
int slot_of(const Host& host, int index) {
  return host.slot_indices.empty() ? index : host.slot_indices[static_cast<std::size_t>(index)];
}

// Slots that are CPUs are allocated as a number.
Quantity held_cpus(const HeldOfHost& held) {
  Quantity sum;
  for (const auto& [slot, share] : held.slots) sum = sum + share;
  return std::max(sum, held.cpus);
}

int workers_by_free_slots(const HostView& view, const SlotSupply& supply) {
  if (!view.held || !supply.has_slots()) return workers_by_slots(supply);
  if (supply.kind == SlotKind::cpus)
    return share_count(less(supply.size, held_cpus(*view.held)), supply.use);
  return clamp_workers(slot_room(view.host, supply, view.held).count(supply.use));
}

}  // namespace

SlotRoom slot_room(const Host& host, const SlotSupply& supply, const HeldOfHost* held) {
  const auto size = static_cast<int>(supply.size.whole());
  if (!held) return SlotRoom(size);
  std::vector<Quantity> free(static_cast<std::size_t>(size), Quantity::of(1));
  for (int i = 0; i < size; ++i)
    if (const auto found = held->slots.find(slot_of(host, i)); found != held->slots.end())
      free[static_cast<std::size_t>(i)] = less(Quantity::of(1), found->second);
  return SlotRoom(free);
}

Quantity free_slots(const Host& host, const SlotSupply& supply, const HeldOfHost* held) {
  if (!held || !supply.has_slots()) return supply.size;
  if (supply.kind == SlotKind::cpus) return less(supply.size, held_cpus(*held));
  Quantity free;
  for (int i = 0; i < static_cast<int>(supply.size.whole()); ++i) {
    const auto found = held->slots.find(slot_of(host, i));
    free = free +
           (found == held->slots.end() ? Quantity::of(1) : less(Quantity::of(1), found->second));
  }
  return free;
}

std::vector<Constraint> constraints_of(const ExperimentConfig& experiment,
                                       const HostInventory& inventory) {
  using Kind = Constraint::Kind;
  const bool has_pools = std::any_of(inventory.hosts.begin(), inventory.hosts.end(),
                                     [](const Host& host) { return !host.pool.empty(); });
  const WorkerNeeds& needs = experiment.needs;
  std::vector<Constraint> constraints;
  if (!experiment.resource_pool.empty() && has_pools) constraints.push_back({Kind::pool, {}});
  if (!needs.accelerator_type.empty()) constraints.push_back({Kind::accelerator_type, {}});
  if (!experiment.label_selectors.empty()) constraints.push_back({Kind::labels, {}});
  constraints.push_back({Kind::slots, {}});
  if (!needs.cpus.is_zero()) constraints.push_back({Kind::cpus, {}});
  if (needs.memory.value_or(0) > 0) constraints.push_back({Kind::memory, {}});
  for (const auto& [name, quantity] : needs.custom)
    if (!quantity.is_zero()) constraints.push_back({Kind::custom, name});
  if (!experiment.trainer.empty()) constraints.push_back({Kind::trainer, {}});
  if (experiment.slices) constraints.push_back({Kind::slices, {}});
  return constraints;
}

namespace {

Quantity free_custom(const HostView& view, const std::string& name) {
  const auto declared = view.host.custom.find(name);
  if (declared == view.host.custom.end()) return {};
  if (!view.held) return declared->second;
  const auto held = view.held->custom.find(name);
  return held == view.held->custom.end() ? declared->second : less(declared->second, held->second);
}

// Nothing if the host does not declare its CPUs.
std::optional<Quantity> free_cpus(const HostView& view) {
  if (!view.host.cpus) return std::nullopt;
  return view.held ? less(*view.host.cpus, view.held->cpus) : *view.host.cpus;
}

std::optional<std::uint64_t> free_memory(const HostView& view) {
  if (!view.host.memory || !view.held) return view.host.memory;
  return *view.host.memory - std::min(*view.host.memory, view.held->memory);
}

bool has_a_label_match(const Host& host, const std::vector<LabelSelector>& selectors) {
  return std::any_of(selectors.begin(), selectors.end(),
                     [&](const LabelSelector& selector) { return matches(selector, host.labels); });
}

int by_memory(std::uint64_t free, std::uint64_t each) {
  if (each == 0) return unlimited_workers;
  return clamp_workers(
      static_cast<std::int64_t>(std::min<std::uint64_t>(free / each, unlimited_workers)));
}

// The slots left for workers beside the trainer; nothing if the trainer does not fit.
std::optional<int> slots_beside_trainer(const HostView& view, const ExperimentConfig& experiment) {
  const TrainerNeeds& trainer = experiment.trainer;
  const SlotSupply supply = slot_supply(view.host, experiment.needs);
  if (supply.kind == SlotKind::cpus && trainer.gpus.is_zero()) {
    const Quantity free = free_slots(view.host, supply, view.held);
    if (free < trainer.cpus) return std::nullopt;
    return share_count(free - trainer.cpus, supply.use);
  }
  if (trainer.gpus.is_zero()) return workers_by_free_slots(view, supply);
  const TrainerSlots beside = trainer_slots(view, experiment);
  if (beside.slots.empty()) return std::nullopt;
  return supply.takes_singly() ? clamp_workers(beside.left.count(supply.use))
                               : workers_by_free_slots(view, supply);
}

}  // namespace

TrainerSlots trainer_slots(const HostView& view, const ExperimentConfig& experiment) {
  const TrainerNeeds& trainer = experiment.trainer;
  WorkerNeeds as_worker;
  as_worker.slots = trainer.gpus;
  as_worker.gpus_named = true;
  const SlotSupply of_trainer = slot_supply(view.host, as_worker);
  if (of_trainer.kind != SlotKind::devices) return {SlotRoom(0), {}};
  const SlotSupply supply = slot_supply(view.host, experiment.needs);
  SlotRoom room = slot_room(view.host, of_trainer, view.held);
  std::vector<int> slots =
      room.set_aside(trainer.gpus, supply.takes_singly() ? supply.use : Quantity());
  return {std::move(room), std::move(slots)};
}

int workers_allowed(const Constraint& constraint, const HostView& view,
                    const ExperimentConfig& experiment) {
  const WorkerNeeds& needs = experiment.needs;
  const Host& host = view.host;
  switch (constraint.kind) {
    case Constraint::Kind::pool:
      return host.pool == experiment.resource_pool ? unlimited_workers : 0;
    case Constraint::Kind::accelerator_type:
      return host.accelerator_type == needs.accelerator_type ? unlimited_workers : 0;
    case Constraint::Kind::labels:
      return has_a_label_match(host, experiment.label_selectors) ? unlimited_workers : 0;
    case Constraint::Kind::slots:
      return workers_by_free_slots(view, slot_supply(host, needs));
    case Constraint::Kind::cpus: {
      const auto free = free_cpus(view);
      return free ? share_count(*free, needs.cpus) : unlimited_workers;
    }
    case Constraint::Kind::memory: {
      const auto free = free_memory(view);
      return free ? by_memory(*free, *needs.memory) : unlimited_workers;
    }
    case Constraint::Kind::custom:
      return share_count(free_custom(view, constraint.name), needs.custom.at(constraint.name));
    case Constraint::Kind::trainer:
    case Constraint::Kind::slices:
      break;
  }
  return unlimited_workers;
}

int workers_beside_trainer(const HostView& view, const ExperimentConfig& experiment,
                           const std::vector<Constraint>& constraints) {
  const TrainerNeeds& trainer = experiment.trainer;
  const WorkerNeeds& needs = experiment.needs;
  int workers = slots_beside_trainer(view, experiment).value_or(-1);
  if (const auto cpus = free_cpus(view))
    workers = std::min(workers,
                       *cpus < trainer.cpus ? -1 : share_count(*cpus - trainer.cpus, needs.cpus));
  if (const auto memory = free_memory(view))
    workers = std::min(workers, *memory < trainer.memory ? -1
                                                         : by_memory(*memory - trainer.memory,
                                                                     needs.memory.value_or(0)));
  for (const auto& [name, quantity] : trainer.custom) {
    const Quantity free = free_custom(view, name);
    const auto each = needs.custom.find(name);
    const Quantity of_worker = each == needs.custom.end() ? Quantity() : each->second;
    workers = std::min(workers, free < quantity ? -1 : share_count(free - quantity, of_worker));
  }
  for (const Constraint& constraint : constraints)
    workers = std::min(workers, workers_allowed(constraint, view, experiment));
  return workers;
}

int workers_that_fill(const SlotSupply& supply) {
  const int workers = workers_by_slots(supply);
  if (workers == 0 || workers == unlimited_workers) return 0;
  if (supply.use < Quantity::of(1) && supply.kind != SlotKind::cpus) return workers;
  const Quantity idle = supply.size - supply.use * workers;
  return idle < Quantity::of(1) ? workers : 0;
}

int workers_that_fill_beside_trainer(const Host& host, const ExperimentConfig& experiment) {
  const SlotSupply supply = slot_supply(host, experiment.needs);
  const TrainerNeeds& trainer = experiment.trainer;
  const int workers = slots_beside_trainer({host, nullptr}, experiment).value_or(0);
  if (workers == 0 || workers == unlimited_workers || !supply.has_slots()) return 0;
  if (trainer.gpus.is_zero() && supply.kind != SlotKind::cpus) return workers_that_fill(supply);
  if (supply.use < Quantity::of(1) && supply.kind != SlotKind::cpus) return workers;
  // The trainer gets whole devices, or a part of one that no worker shares.
  const bool takes_devices = supply.kind != SlotKind::cpus;
  const Quantity of_trainer =
      !takes_devices ? trainer.cpus : std::max(trainer.gpus, Quantity::of(1));
  return supply.size - of_trainer - supply.use * workers < Quantity::of(1) ? workers : 0;
}

}  // namespace train
