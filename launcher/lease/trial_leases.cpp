// SPDX-License-Identifier: Apache-2.0
// Separate from lease.cpp: hosts do not need plans.
#include "launcher/lease/trial_leases.hpp"

#include <algorithm>
#include <map>

#include "launcher/lease/slot_keys.hpp"
#include "launcher/plan/host_take.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

class Wants {
 public:
  // A plan never exceeds the capacity; a host with contradictory declarations is held as a whole.
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

}  // namespace

std::vector<LeaseWant> leases_of(const ExperimentConfig& experiment, const Trial& trial, int host) {
  const PlannedHost& planned = trial.hosts[static_cast<std::size_t>(host)];
  const HostTake take = take_of(experiment, trial, host);
  Wants wants;
  for (const auto& [slot, share] : take.slots)
    wants.add(key_of_slot(planned, slot), units(share), lease_units);
  if (planned.host.cpus)
    wants.add({Kind::cpus, 0, {}}, units(take.cpus), units(*planned.host.cpus));
  wants.add({Kind::memory, 0, {}}, take.memory, planned.host.memory.value_or(0));
  for (const auto& [name, there] : planned.host.custom)
    if (const auto taken = take.custom.find(name); taken != take.custom.end())
      wants.add({Kind::custom, 0, name}, units(taken->second), units(there));
  return wants.take();
}

}  // namespace train
