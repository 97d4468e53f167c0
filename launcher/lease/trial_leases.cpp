// SPDX-License-Identifier: Apache-2.0
// Apart from lease.cpp: hosts do not need what a plan is made of.
#include "launcher/lease/trial_leases.hpp"

#include <algorithm>
#include <map>

#include "launcher/lease/slot_keys.hpp"
#include "launcher/plan/slot_supply.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

class Wants {
 public:
  // What does not fit was not planned; a host that says two things of itself is held whole.
  void add(LeaseKey key, std::uint64_t amount, std::uint64_t capacity) {
    if (amount == 0 || capacity == 0) return;
    LeaseWant& want = wants_[key];
    want.key = std::move(key);
    want.capacity = capacity;
    want.amount = std::min(want.amount + amount, capacity);
  }
  std::vector<LeaseWant> take() {
    std::vector<LeaseWant> all;
    for (auto& [key, want] : wants_) all.push_back(std::move(want));
    return all;
  }

 private:
  std::map<LeaseKey, LeaseWant> wants_;
};

std::uint64_t units(Quantity quantity) { return static_cast<std::uint64_t>(quantity.parts()); }

LeaseKey key_of_slot(const PlannedHost& host, int slot) {
  return key_of_slot(host.host, {host.slots_are_gpus, host.devices_at_launch}, slot);
}

// Of a slot that workers share each takes its part; one process for all of them has it whole.
std::uint64_t share_of_rank(const ExperimentConfig& experiment, Quantity use) {
  const bool is_shared = use < Quantity::of(1) && experiment.processes != Processes::per_host;
  return is_shared ? units(use) : lease_units;
}

void add_slots(const ExperimentConfig& experiment, const Trial& trial, int index,
               const SlotSupply& supply, Wants& wants) {
  const PlannedHost& host = trial.hosts[static_cast<std::size_t>(index)];
  const std::uint64_t share = share_of_rank(experiment, supply.use);
  for (int rank = host.first_rank; rank < host.first_rank + host.rank_count; ++rank)
    for (const int slot : trial.ranks[static_cast<std::size_t>(rank)].slots)
      wants.add(key_of_slot(host, slot), share, lease_units);
  if (index > 0) return;
  const Quantity of_trainer = std::min(experiment.trainer.gpus, Quantity::of(1));
  for (const int slot : trial.trainer_slots)
    wants.add(key_of_slot(host, slot), units(of_trainer), lease_units);
}

}  // namespace

std::vector<LeaseWant> leases_of(const ExperimentConfig& experiment, const Trial& trial, int host) {
  const PlannedHost& planned = trial.hosts[static_cast<std::size_t>(host)];
  const WorkerNeeds& needs = experiment.needs;
  const TrainerNeeds trainer = host == 0 ? experiment.trainer : TrainerNeeds();
  const SlotSupply supply = slot_supply(planned.host, needs);
  const int workers = planned.worker_count;
  Wants wants;
  Quantity cpus = needs.cpus * workers + trainer.cpus;
  if (supply.kind == SlotKind::cpus)
    cpus = std::max(cpus, supply.use * workers);
  else
    add_slots(experiment, trial, host, supply, wants);
  if (planned.host.cpus) wants.add({Kind::cpus, 0, {}}, units(cpus), units(*planned.host.cpus));
  const std::uint64_t memory =
      needs.memory.value_or(0) * static_cast<std::uint64_t>(workers) + trainer.memory;
  wants.add({Kind::memory, 0, {}}, memory, planned.host.memory.value_or(0));
  for (const auto& [name, there] : planned.host.custom) {
    const auto asked = needs.custom.find(name);
    const auto of_trainer = trainer.custom.find(name);
    Quantity amount = asked == needs.custom.end() ? Quantity() : asked->second * workers;
    if (of_trainer != trainer.custom.end()) amount = amount + of_trainer->second;
    wants.add({Kind::custom, 0, name}, units(amount), units(there));
  }
  return wants.take();
}

}  // namespace train
