// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/capacity.hpp"

#include <algorithm>

namespace train {
namespace {

int clamp_workers(std::int64_t workers) {
  return static_cast<int>(std::min<std::int64_t>(workers, unlimited_workers));
}

int share_count(Quantity supply, Quantity use) {
  return use.is_zero() ? unlimited_workers : clamp_workers(supply.parts() / use.parts());
}

// What a worker takes of a host whose slots are CPUs.
Quantity cpu_share(const WorkerNeeds& needs) {
  if (!needs.cpus.is_zero()) return needs.cpus;
  if (needs.slots.is_zero() && needs.cpus_named) return Quantity();
  return std::max(Quantity::of(1), needs.slots);
}

// Fractions share a device, so a fraction that does not divide it leaves a rest on every one.
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

SlotSupply supply_of_gpu_host(const Host& host, const WorkerNeeds& needs) {
  if (needs.slots.is_zero())
    return {.kind = SlotKind::beside,
            .size = host.cpus.value_or(Quantity()),
            .use = host.cpus ? needs.cpus : Quantity()};
  return {.kind = SlotKind::devices, .size = Quantity::of(*slot_count(host)), .use = needs.slots};
}

SlotSupply supply_of_all(const Host& host, const WorkerNeeds& needs) {
  if (host.accelerators.value_or(0) > 0) return supply_of_gpu_host(host, needs);
  const bool wants_gpus = needs.gpus_named && !needs.slots.is_zero();
  if (wants_gpus && (host.accelerators || (!host.slots && host.cpus)))
    return {.kind = SlotKind::missing, .use = needs.slots};
  if (!host.slots && host.cpus)
    return {.kind = SlotKind::cpus, .size = *host.cpus, .use = cpu_share(needs)};
  return {.kind = wants_gpus ? SlotKind::devices : SlotKind::places,
          .size = Quantity::of(host.slots.value_or(1)),
          .use = needs.slots.is_zero() ? Quantity::of(1) : needs.slots,
          .unsaid = !host.slots,
          .relied = wants_gpus};
}

}  // namespace

SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs) {
  SlotSupply supply = supply_of_all(host, needs);
  const bool has_slots = supply.kind != SlotKind::beside && supply.kind != SlotKind::missing;
  if (has_slots && !host.slot_indices.empty())
    supply.size = Quantity::of(static_cast<std::int64_t>(host.slot_indices.size()));
  return supply;
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
  constraints.push_back({Kind::slots, {}});
  if (!needs.cpus.is_zero()) constraints.push_back({Kind::cpus, {}});
  if (needs.memory.value_or(0) > 0) constraints.push_back({Kind::memory, {}});
  for (const auto& [name, quantity] : needs.custom)
    if (!quantity.is_zero()) constraints.push_back({Kind::custom, name});
  return constraints;
}

int workers_allowed(const Constraint& constraint, const Host& host,
                    const ExperimentConfig& experiment) {
  const WorkerNeeds& needs = experiment.needs;
  switch (constraint.kind) {
    case Constraint::Kind::pool:
      return host.pool == experiment.resource_pool ? unlimited_workers : 0;
    case Constraint::Kind::accelerator_type:
      return host.accelerator_type == needs.accelerator_type ? unlimited_workers : 0;
    case Constraint::Kind::slots:
      return workers_by_slots(slot_supply(host, needs));
    case Constraint::Kind::cpus:
      return host.cpus ? share_count(*host.cpus, needs.cpus) : unlimited_workers;
    case Constraint::Kind::memory:
      if (!host.memory) return unlimited_workers;
      return clamp_workers(static_cast<std::int64_t>(
          std::min<std::uint64_t>(*host.memory / *needs.memory, unlimited_workers)));
    case Constraint::Kind::custom: {
      const auto declared = host.custom.find(constraint.name);
      if (declared == host.custom.end()) return 0;
      return share_count(declared->second, needs.custom.at(constraint.name));
    }
  }
  return 0;
}

int workers_that_fill(const SlotSupply& supply) {
  const int workers = workers_by_slots(supply);
  if (workers == 0 || workers == unlimited_workers) return 0;
  if (supply.use < Quantity::of(1) && supply.kind != SlotKind::cpus) return workers;
  const Quantity idle = supply.size - supply.use * workers;
  return idle < Quantity::of(1) ? workers : 0;
}

}  // namespace train
