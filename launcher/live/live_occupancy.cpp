// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_occupancy.hpp"

#include <algorithm>
#include <map>

#include "launcher/lease/lease_words.hpp"
#include "launcher/lease/slot_keys.hpp"
#include "launcher/live/lease_quantity.hpp"
#include "launcher/plan/slot_supply.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

Quantity lease_quantity(std::uint64_t units) {
  constexpr std::uint64_t most = 1'000'000'000;
  return *Quantity::from_double(static_cast<double>(std::min(units, most * lease_units)) /
                                static_cast<double>(lease_units));
}

std::vector<LeaseKey> slot_keys_of(const Host& host, const WorkerNeeds& needs,
                                   const HostReport& report) {
  const SlotSupply supply = slot_supply(host, needs);
  if (!supply.takes_singly()) return {};
  const SlotNature nature{supply.kind == SlotKind::devices, supply.asked_at_launch};
  const int slots = slot_count(host).value_or(1);
  std::vector<LeaseKey> keys;
  keys.reserve(static_cast<std::size_t>(std::max(slots, 0)));
  for (int slot = 0; slot < slots; ++slot)
    keys.push_back(named(settled(key_of_slot(host, nature, slot), needed_gpus(host),
                                 report.gpus.cuda, report.gpus.rocm),
                         report.cuda_names, report.rocm_names));
  return keys;
}

HostUse whole_host(const Host& host, std::string holder) {
  HostUse use{.host = host.name, .holder = std::move(holder), .slots = {}};
  for (int slot = 0; slot < slot_count(host).value_or(1); ++slot) use.slots[slot] = Quantity::of(1);
  use.cpus = host.cpus.value_or(Quantity());
  use.memory = host.memory.value_or(0);
  use.custom = host.custom;
  return use;
}

int idle_slots(const Host& host, const WorkerNeeds& needs, const HostReport& report) {
  const std::vector<LeaseKey> slots = slot_keys_of(host, needs, report);
  const auto is_idle = [&](const LeaseKey& slot) {
    return std::none_of(
        report.holders.begin(), report.holders.end(), [&](const LeaseHolder& holder) {
          return std::any_of(holder.leases.begin(), holder.leases.end(),
                             [&](const auto& held) { return is_same_slot(slot, held.key); });
        });
  };
  return static_cast<int>(std::count_if(slots.begin(), slots.end(), is_idle));
}

namespace {

// The holder is "task abcd2345 ('digits') of alice, which waits in line,".
HostUse use_of_line(const Host& host, const Ticket& first) {
  LeaseHolder waiting{.task = first.order.task, .name = first.name};
  waiting.uid = first.uid;
  waiting.user = first.user;
  return whole_host(host, short_words_of(waiting) + ", which waits in line,");
}

}  // namespace

Occupancy occupancy_of(const Host& host, const WorkerNeeds& needs, const HostReport& report) {
  const std::vector<LeaseKey> slots = slot_keys_of(host, needs, report);
  Occupancy occupancy;
  for (const LeaseHolder& holder : report.holders) {
    HostUse use{.host = host.name, .holder = short_words_of(holder), .slots = {}};
    use.held_ms = holder.held_ms;
    for (const LeaseHolder::Held& held : holder.leases) {
      if (held.key.kind == LeaseKey::Kind::memory) {
        use.memory += held.amount;
        continue;
      }
      const Quantity amount = lease_quantity(held.amount);
      if (amount.is_zero()) continue;
      if (held.key.kind == LeaseKey::Kind::cpus) use.cpus = use.cpus + amount;
      if (held.key.kind == LeaseKey::Kind::custom)
        use.custom[held.key.name] = use.custom[held.key.name] + amount;
      for (std::size_t slot = 0; slot < slots.size(); ++slot)
        if (is_same_slot(slots[slot], held.key)) {
          Quantity& share = use.slots[static_cast<int>(slot)];
          share = share + amount;
        }
    }
    const bool has_any =
        !use.slots.empty() || !use.cpus.is_zero() || use.memory > 0 || !use.custom.empty();
    if (has_any) occupancy.push_back(std::move(use));
  }
  if (!report.tickets.empty()) occupancy.push_back(use_of_line(host, report.tickets.front()));
  return occupancy;
}

Occupancy occupancy_of(const HostInventory& inventory, const ExperimentConfig& experiment,
                       std::vector<std::optional<HostReport>> reports) {
  Occupancy all;
  for (std::size_t host = 0; host < reports.size(); ++host) {
    if (!reports[host]) continue;
    if (experiment.allow_busy)
      std::erase_if(reports[host]->holders, [](const LeaseHolder& each) { return each.pid > 0; });
    for (HostUse& use : occupancy_of(inventory.hosts[host], experiment.needs, *reports[host]))
      all.push_back(std::move(use));
  }
  return all;
}

}  // namespace train
