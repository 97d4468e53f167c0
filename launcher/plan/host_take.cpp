// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/host_take.hpp"

#include <algorithm>

#include "launcher/plan/slot_supply.hpp"

namespace train {

namespace {

// Workers that share a slot each take their part; one process for all of them takes the whole slot.
Quantity share_of_rank(const ExperimentConfig& experiment, Quantity use) {
  const bool is_shared = use < Quantity::of(1) && experiment.processes != Processes::per_host;
  return is_shared ? use : Quantity::of(1);
}

void add(std::map<int, Quantity>& slots, int slot, Quantity share) {
  slots[slot] = slots[slot] + share;
}

}  // namespace

HostTake take_of(const ExperimentConfig& experiment, const Trial& trial, int host) {
  const PlannedHost& planned = trial.hosts[static_cast<std::size_t>(host)];
  const WorkerNeeds& needs = experiment.needs;
  const TrainerNeeds trainer = host == 0 ? experiment.trainer : TrainerNeeds();
  const SlotSupply supply = slot_supply(planned.host, needs);
  const int workers = planned.worker_count;
  HostTake take;
  take.cpus = needs.cpus * workers + trainer.cpus;
  if (supply.kind == SlotKind::cpus) {
    take.cpus = std::max(take.cpus, supply.use * workers);
  } else {
    const Quantity share = share_of_rank(experiment, supply.use);
    for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank)
      for (const int slot : trial.ranks[static_cast<std::size_t>(rank)].slots)
        add(take.slots, slot, share);
    if (host == 0)
      for (const int slot : trial.trainer_slots)
        add(take.slots, slot, std::min(trainer.gpus, Quantity::of(1)));
  }
  take.memory = needs.memory.value_or(0) * static_cast<std::uint64_t>(workers) + trainer.memory;
  for (const auto& [name, amount] : needs.custom) take.custom[name] = amount * workers;
  for (const auto& [name, amount] : trainer.custom) take.custom[name] = take.custom[name] + amount;
  return take;
}

}  // namespace train
