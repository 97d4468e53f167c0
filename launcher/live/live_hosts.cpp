// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "launcher/lease/lease_words.hpp"
#include "launcher/live/lease_quantity.hpp"

namespace train {

namespace {

using Kind = LeaseKey::Kind;

constexpr Quantity whole = Quantity::of(1);
static_assert(Quantity::scale == lease_units);
// Any user may lock a slot of any number: a host is never shown with more slots than this because
// of that.
constexpr std::size_t most_undeclared = 256;

const std::vector<int>& gpus_of(const HostReport& report, Kind kind) {
  return kind == Kind::cuda ? report.gpus.cuda : report.gpus.rocm;
}

// The number of slots, and their kind.
struct SlotCount {
  LiveSlotKind kind;
  std::size_t slots;
};

SlotCount count_slots(const Host& host, const HostReport& report) {
  const std::size_t gpus = report.gpus.count();
  const bool may_be_gpus = host.slot_type != SlotType::cpu && host.accelerators != 0;
  if (host.accelerators.value_or(0) > 0) {
    const auto slots = static_cast<std::size_t>(slot_count(host).value_or(0));
    return {gpus > 0 || says_devices(host) ? LiveSlotKind::gpus : LiveSlotKind::devices, slots};
  }
  if (host.slots) {
    const auto slots = static_cast<std::size_t>(*host.slots);
    return {may_be_gpus && gpus >= slots ? LiveSlotKind::gpus : LiveSlotKind::places, slots};
  }
  if (may_be_gpus && gpus > 0) return {LiveSlotKind::gpus, gpus};
  const auto cpus = slot_count(host).value_or(report.cpus);
  return {LiveSlotKind::cpus, static_cast<std::size_t>(cpus)};
}

std::optional<std::size_t> place_in(const std::vector<int>& numbers, int number) {
  const auto found = std::find(numbers.begin(), numbers.end(), number);
  if (found == numbers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - numbers.begin());
}

// The slot of a key; nothing: the host has no such slot.
std::optional<std::size_t> slot_of(const LeaseKey& key, const Host& host,
                                   const HostReport& report) {
  if (key.index < 0) return std::nullopt;
  const auto index = static_cast<std::size_t>(key.index);
  if (key.kind == Kind::place) return index;
  const bool is_device = is_gpu(key) || key.kind == Kind::device;
  if (!is_device) return std::nullopt;
  if (is_gpu(key) && !key.name.empty()) {
    const auto& names = key.kind == Kind::cuda ? report.cuda_names : report.rocm_names;
    // The number is another user's; by its identity, the GPU is not among ours.
    if (!names.empty() && std::find(names.begin(), names.end(), key.name) == names.end())
      return std::nullopt;
  }
  if (!host.device_indices.empty()) return place_in(host.device_indices, key.index);
  if (is_gpu(key) && !gpus_of(report, key.kind).empty())
    return place_in(gpus_of(report, key.kind), key.index);
  return index;
}

bool has_slots(const LiveSlots& live, std::size_t holder) {
  return std::any_of(live.slots.begin(), live.slots.end(), [&](const auto& shares) {
    return std::any_of(shares.begin(), shares.end(),
                       [&](const SlotShare& share) { return share.holder == holder; });
  });
}

// It is not known which CPUs are held: takes the first ones with a free part. The rest stays in
// `units`.
void lay_cpus(LiveSlots& live, std::size_t holder, std::uint64_t& units) {
  for (auto& shares : live.slots) {
    Quantity left = whole;
    for (const SlotShare& share : shares) left = left - std::min(left, share.amount);
    const Quantity taken = std::min(left, lease_quantity(units));
    if (taken.is_zero()) continue;
    shares.push_back({holder, taken});
    units -= static_cast<std::uint64_t>(taken.parts());  // parts and units have the same size
  }
}

// The GPU of a slot and its place are the same slot.
void lay_slots(LiveSlots& live, std::size_t holder, const std::map<std::size_t, Quantity>& held) {
  for (const auto& [slot, amount] : held) {
    if (slot >= live.slots.size()) live.slots.resize(slot + 1);
    live.slots[slot].push_back({holder, std::min(whole, amount)});
  }
}

}  // namespace

std::string_view to_string(LiveSlotKind kind) {
  switch (kind) {
    case LiveSlotKind::gpus:
      return "gpus";
    case LiveSlotKind::devices:
      return "devices";
    case LiveSlotKind::places:
      return "places";
    case LiveSlotKind::cpus:
      return "cpus";
  }
  return "places";
}

LiveSlots live_slots(const Host& host, const HostReport& report) {
  const SlotCount count = count_slots(host, report);
  LiveSlots live{count.kind, std::vector<std::vector<SlotShare>>(count.slots), {}};
  live.beside.resize(report.holders.size());
  const std::size_t most = std::max(count.slots, most_undeclared);
  for (std::size_t holder = 0; holder < report.holders.size(); ++holder) {
    std::map<std::size_t, Quantity> held;
    for (const LeaseHolder::Held& each : report.holders[holder].leases) {
      const Quantity amount = lease_quantity(each.amount);
      const auto slot = slot_of(each.key, host, report);
      if (amount.is_zero()) continue;
      if (slot && *slot < most)
        held[*slot] = std::max(held[*slot], amount);
      else
        live.beside[holder].push_back(each);
    }
    lay_slots(live, holder, held);
  }
  if (count.kind != LiveSlotKind::cpus) return live;
  for (std::size_t holder = 0; holder < report.holders.size(); ++holder) {
    if (has_slots(live, holder)) continue;
    auto& beside = live.beside[holder];
    const auto cpus = std::find_if(beside.begin(), beside.end(),
                                   [](const auto& each) { return each.key.kind == Kind::cpus; });
    if (cpus == beside.end()) continue;
    lay_cpus(live, holder, cpus->amount);
    if (cpus->amount == 0) beside.erase(cpus);
  }
  return live;
}

std::vector<LiveHost> live_hosts(const std::vector<Host>& hosts,
                                 std::vector<Result<HostReport>> reports) {
  std::vector<LiveHost> live;
  live.reserve(hosts.size());
  std::map<std::string, std::string> first_names;  // by the identity of leases
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    LiveHost each{hosts[i], std::move(reports[i])};
    if (each.is_known()) {
      each.slots = live_slots(each.host, *each.report);
      const auto [first, is_new] =
          first_names.try_emplace(each.report->lease_identity, each.host.name);
      if (!is_new) each.same_as = first->second;
    }
    live.push_back(std::move(each));
  }
  return live;
}

bool is_foreign(const LiveHost& host, const std::vector<SlotShare>& shares) {
  return !shares.empty() && std::all_of(shares.begin(), shares.end(), [&](const SlotShare& share) {
    return host.report->holders[share.holder].pid > 0;
  });
}

std::size_t foreign_slots(const LiveHost& host) {
  return static_cast<std::size_t>(
      std::count_if(host.slots.slots.begin(), host.slots.slots.end(),
                    [&](const auto& shares) { return is_foreign(host, shares); }));
}

std::size_t free_slots(const LiveHost& host) {
  return static_cast<std::size_t>(std::count_if(host.slots.slots.begin(), host.slots.slots.end(),
                                                [](const auto& shares) { return shares.empty(); }));
}

std::string gpu_type_of(const LiveHost& host) {
  if (!host.host.accelerator_type.empty()) return host.host.accelerator_type;
  return host.report ? host.report->gpu_type : "";
}

std::vector<std::string> lost_locks(const LiveHost& host) {
  std::vector<std::string> said;
  if (!host.is_known() || !host.same_as.empty()) return said;
  for (const std::string& task : host.report->without_locks)
    said.push_back(
        fmt::format("lock files of task {} were removed or replaced: its word counts", task));
  said.insert(said.end(), host.report->squats.begin(), host.report->squats.end());
  return said;
}

std::vector<std::string> live_notes(const LiveHost& host) {
  if (!host.report) return {"unreachable: " + in_one_line(host.report.error())};
  if (!host.is_known()) return {"who holds what is not known: " + host.report->lease_trouble};
  std::vector<std::string> notes;
  if (!host.same_as.empty()) return {fmt::format("the same machine as {}", host.same_as)};
  for (std::size_t holder = 0; holder < host.slots.beside.size(); ++holder) {
    const auto& beside = host.slots.beside[holder];
    const bool has_devices = std::any_of(beside.begin(), beside.end(), [](const auto& each) {
      return is_gpu(each.key) || each.key.kind == Kind::device || each.key.kind == Kind::place;
    });
    if (!beside.empty() && (has_devices || !has_slots(host.slots, holder)))
      notes.push_back(fmt::format("{} held by {}", words_of(beside),
                                  short_words_of(host.report->holders[holder])));
  }
  for (std::string& lost : lost_locks(host)) notes.push_back(std::move(lost));
  if (host.report->untold_holders > 0)
    notes.push_back(
        fmt::format("held by {} more that it does not name", host.report->untold_holders));
  return notes;
}

}  // namespace train
