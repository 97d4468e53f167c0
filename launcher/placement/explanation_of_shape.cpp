// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config_schema/hosts/host_set.hpp"

namespace train {

// There are places enough, but not on hosts that each worker selects.
std::string Explanation::selectors_reason() const {
  const std::vector<int>& of_kind = search_.selected.of_kind;
  std::vector<std::string> parts;
  constexpr std::size_t most_kinds = 6;
  for (std::size_t kind = 0; kind < of_kind.size() && kind < most_kinds; ++kind) {
    std::vector<std::string> hosts;
    std::int64_t room_of_kind = 0;
    for (const int index : search_.eligible) {
      if (((search_.selected.kinds[static_cast<std::size_t>(index)] >> kind) & 1U) == 0) continue;
      room_of_kind += room(index).workers;
      hosts.push_back(host(index).name);
    }
    parts.push_back(fmt::format(
        "{} of {} ({})", counted(fmt::format("{}", of_kind[kind]), "worker"),
        hosts.empty() ? std::string("no host") : summarize_hosts(hosts, 2),
        hosts.empty()
            ? std::string("none matches")
            : fmt::format("room for {}", std::min<std::int64_t>(room_of_kind, unlimited_workers))));
  }
  if (of_kind.size() > most_kinds)
    parts.push_back(fmt::format("{} more selectors", of_kind.size() - most_kinds));
  return fmt::format(
      "{} asked, each on hosts of its own label_selector, and under placement: {} no way was found "
      "to lay them together: {}",
      counted(fmt::format("{}", experiment_.workers), "worker"), to_string(rule_.policy),
      fmt::join(parts, ", "));
}

// The sum first: a host of rank 0 that has room for the trainer but not for a worker as well is
// the rarer case.
std::string Explanation::trainer_reason() const {
  const std::string workers = counted(fmt::format("{}", experiment_.workers), "worker");
  const TrainerNeeds& trainer = experiment_.trainer;
  const Quantity each = cpus_of_a_worker();
  const std::int64_t most_parts = std::numeric_limits<std::int64_t>::max() / 4;
  const bool has_sum = each.parts() < most_parts / experiment_.workers;
  if (!trainer.cpus.is_zero() && has_sum) {
    const Quantity needed = each * experiment_.workers + trainer.cpus;
    Quantity all;
    bool is_known = true;
    for (const int index : search_.eligible) {
      is_known = is_known && host(index).cpus.has_value();
      all = all + host(index).cpus.value_or(Quantity());
    }
    const bool is_short = is_known && all < needed;
    if (is_short)
      return fmt::format("{} of {} and a trainer of {}{} need {}, {} {}", workers,
                         counted(to_string(each), "CPU"), counted(to_string(trainer.cpus), "CPU"),
                         trainer.is_usual ? " (Ray's default)" : "",
                         counted(to_string(needed), "CPU"), subject("has", "have"), to_string(all));
  }
  PlacementRule alone = rule_;
  alone.has_trainer = false;
  if (!choose_hosts(search_.failed_rooms, experiment_.workers, alone)) return policy_reason();
  return fmt::format(
      "{} fit, but not with the trainer ({}) on rank 0's host: room for workers beside it: {}",
      workers, trainer_text(), room_beside_trainer());
}

// Of the CPUs of a host, be they its slots or not.
Quantity Explanation::cpus_of_a_worker() const {
  Quantity each = experiment_.needs.cpus;
  for (const int index : search_.eligible)
    if (supply(index).kind == SlotKind::cpus) each = std::max(each, supply(index).use);
  return each;
}

std::string Explanation::trainer_text() const {
  const TrainerNeeds& trainer = experiment_.trainer;
  std::vector<std::string> parts;
  if (!trainer.cpus.is_zero()) parts.push_back(counted(to_string(trainer.cpus), "CPU"));
  if (!trainer.gpus.is_zero()) parts.push_back(counted(to_string(trainer.gpus), "GPU"));
  if (trainer.memory > 0) parts.push_back(memory_text(trainer.memory));
  for (const auto& [name, quantity] : trainer.custom)
    parts.push_back(fmt::format("{} {}", to_string(quantity), name));
  return fmt::format("{}{}", fmt::join(parts, ", "), trainer.is_usual ? ", Ray's default" : "");
}

std::string Explanation::room_beside_trainer() const {
  std::vector<HostAmount> amounts;
  for (const int index : search_.eligible) {
    const int workers = room(index).beside_trainer;
    amounts.push_back({host(index).name, workers < 0 ? std::string("no room for it")
                                         : workers >= unlimited_workers
                                             ? std::string("any")
                                             : fmt::format("{}", workers)});
  }
  return list_amounts(amounts);
}

std::string Explanation::slices_reason() const {
  const SliceNeeds& needs = *experiment_.slices;
  if (rule_.is_one_host() && needs.slices * needs.hosts > 1)
    return fmt::format("{} workers on one host ({}) and a TPU slice of {} hosts exclude each other",
                       experiment_.workers,
                       rule_.is_single_node ? "is_single_node" : "placement: strict_pack",
                       needs.hosts);
  std::vector<HostAmount> amounts;
  int whole = 0;
  for (const TpuSliceHosts& slice : search_.slices) {
    const bool is_whole = is_whole_slice(slice, needs, search_.failed_rooms);
    whole += is_whole ? 1 : 0;
    amounts.push_back({slice.name, is_whole ? std::string("whole") : slice_text(slice)});
  }
  return fmt::format("{} of topology {} asked ({} of {} chips each), {} whole: {}",
                     counted(fmt::format("{}", needs.slices), "TPU slice"), needs.topology,
                     counted(fmt::format("{}", needs.hosts), "host"), needs.chips_per_host,
                     whole == 1 ? "1 is" : fmt::format("{} are", whole), list_amounts(amounts));
}

// Why a slice is not whole.
std::string Explanation::slice_text(const TpuSliceHosts& slice) const {
  const SliceNeeds& needs = *experiment_.slices;
  if (static_cast<int>(slice.hosts.size()) != needs.hosts)
    return counted(fmt::format("{}", slice.hosts.size()), "host");
  const auto usable = std::count_if(slice.hosts.begin(), slice.hosts.end(), [&](int index) {
    return room(index).workers >= needs.workers_per_host;
  });
  if (usable < needs.hosts) return fmt::format("{} of {} hosts usable", usable, needs.hosts);
  return fmt::format("not {} chips on every host", needs.chips_per_host);
}

}  // namespace train
