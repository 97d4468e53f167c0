// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "config_schema/host_set.hpp"
#include "launcher/hosts_summary.hpp"
#include "launcher/placement/nearest.hpp"
#include "launcher/placement/single_change.hpp"
#include "launcher/placement/whole_hosts.hpp"

namespace train {
namespace {

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  if (bytes >= gib && bytes % (gib / 4) == 0)
    return fmt::format("{:g} GiB", static_cast<double>(bytes) / gib);
  if (bytes >= gib) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib);
  if (bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  return fmt::format("{} bytes", bytes);
}

// Tells one refusal: what was asked, and what the hosts have, in the words of one constraint.
class Explanation {
 public:
  Explanation(const ExperimentConfig& experiment, const HostInventory& inventory,
              const HostSearch& search)
      : experiment_(experiment),
        inventory_(inventory),
        search_(search),
        constraint_(search.constraints[search.failed]),
        rule_(rule_of(experiment)),
        counts_slots_(workers_are_slots()) {}

  std::vector<std::string> reasons() const {
    std::vector<std::string> lines{first_reason()};
    add_cpu_hint(lines);
    add_unsaid_hint(lines);
    return lines;
  }

  std::string first_reason() const {
    switch (constraint_.kind) {
      case Constraint::Kind::pool:
        return pool_reason();
      case Constraint::Kind::accelerator_type:
        return type_reason();
      case Constraint::Kind::labels:
        return labels_reason();
      case Constraint::Kind::trainer:
        return trainer_reason();
      case Constraint::Kind::slices:
        return slices_reason();
      default:
        break;
    }
    if (search_.is_shortage) return shortage_reason();
    return search_.selected.are_alike() ? policy_reason() : selectors_reason();
  }

  // There are places enough, but not on hosts that each worker selects.
  std::string selectors_reason() const {
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
          hosts.empty() ? std::string("none matches")
                        : fmt::format("room for {}",
                                      std::min<std::int64_t>(room_of_kind, unlimited_workers))));
    }
    if (of_kind.size() > most_kinds)
      parts.push_back(fmt::format("{} more selectors", of_kind.size() - most_kinds));
    return fmt::format(
        "{} asked, each on hosts of its own label_selector, and under placement: {} these do not "
        "go together: {}",
        counted(fmt::format("{}", experiment_.workers), "worker"), to_string(rule_.policy),
        fmt::join(parts, ", "));
  }

 private:
  const Host& host(int index) const { return inventory_.hosts[index]; }
  const Room& room(int index) const { return search_.failed_rooms[index]; }
  SlotSupply supply(int index) const { return slot_supply(host(index), experiment_.needs); }

  // What a slot is called here.
  std::string slot_word() const {
    if (experiment_.needs.tpus_named) return "TPU chip";
    return experiment_.needs.gpus_named ? "GPU" : "slot";
  }

  // "the 2 hosts have", "node01 has": of those that pool and type leave.
  std::string subject(const std::string& verb_of_one, const std::string& verb_of_many) const {
    if (search_.eligible.size() == 1)
      return fmt::format("{} {}", host(search_.eligible.front()).name, verb_of_one);
    return fmt::format("the {} hosts{} {}", search_.eligible.size(), selection(), verb_of_many);
  }

  std::string selection() const {
    std::string text;
    if (!experiment_.needs.accelerator_type.empty())
      text += fmt::format(" with {}", experiment_.needs.accelerator_type);
    const bool uses_pool = std::any_of(
        search_.constraints.begin(), search_.constraints.end(),
        [](const Constraint& constraint) { return constraint.kind == Constraint::Kind::pool; });
    if (uses_pool) text += fmt::format(" of pool '{}'", experiment_.resource_pool);
    if (!experiment_.label_selectors.empty()) text += " with these labels";
    return text;
  }

  // How the hosts differ in one property, for a property that none of them has right.
  template <class Property>
  std::string inventory_by(Property property) const {
    std::vector<HostAmount> amounts;
    for (const Host& each : inventory_.hosts) amounts.push_back({each.name, property(each)});
    return list_amounts(amounts);
  }

  std::string pool_reason() const {
    return fmt::format("{} in pool '{}': {}", lacks_enough("is", "are"), experiment_.resource_pool,
                       inventory_by([](const Host& each) {
                         return each.pool.empty() ? std::string("(no pool)") : each.pool;
                       }));
  }

  std::string type_reason() const {
    return fmt::format(
        "{} accelerator_type '{}' (matched exactly): {}", lacks_enough("has", "have"),
        experiment_.needs.accelerator_type, inventory_by([](const Host& each) {
          return each.accelerator_type.empty() ? std::string("(not said)") : each.accelerator_type;
        }));
  }

  std::string labels_reason() const {
    std::string wanted = to_string(experiment_.label_selectors.front());
    if (experiment_.label_selectors.size() > 1)
      wanted += fmt::format(" (and {} more selectors)", experiment_.label_selectors.size() - 1);
    return fmt::format("{} label_selector {}: {}", lacks_enough("matches", "match"), wanted,
                       inventory_by([&](const Host& each) { return labels_of(each); }));
  }

  // What a host says of the labels that are selected by.
  std::string labels_of(const Host& each) const {
    std::string text;
    for (const LabelCondition& condition : experiment_.label_selectors.front()) {
      const auto label = each.labels.find(condition.label);
      text += fmt::format("{}{}", text.empty() ? "" : ", ",
                          label == each.labels.end()
                              ? fmt::format("no {}", condition.label)
                              : fmt::format("{}={}", label->first, label->second));
    }
    return text.empty() ? std::string("(any)") : text;
  }

  // The sum first: a host of rank 0 that has room for the trainer but not for a worker as well is
  // the rarer case.
  std::string trainer_reason() const {
    const std::string workers = counted(fmt::format("{}", experiment_.workers), "worker");
    const TrainerNeeds& trainer = experiment_.trainer;
    if (!trainer.cpus.is_zero()) {
      const Quantity each = cpus_of_a_worker();
      const Quantity needed = each * experiment_.workers + trainer.cpus;
      Quantity all;
      bool is_known = true;
      for (const int index : search_.eligible) {
        is_known = is_known && host(index).cpus.has_value();
        all = all + host(index).cpus.value_or(Quantity());
      }
      const bool is_short = is_known && all < needed;
      if (is_short)
        return fmt::format("{} of {} and a trainer of {} need {}, {} {}", workers,
                           counted(to_string(each), "CPU"), counted(to_string(trainer.cpus), "CPU"),
                           counted(to_string(needed), "CPU"), subject("has", "have"),
                           to_string(all));
    }
    PlacementRule alone = rule_;
    alone.has_trainer = false;
    if (!choose_hosts(search_.failed_rooms, experiment_.workers, alone)) return policy_reason();
    return fmt::format(
        "{} fit, but not with the trainer ({}) on rank 0's host: room for workers beside it: {}",
        workers, trainer_text(), room_beside_trainer());
  }

  // Of the CPUs of a host, be they its slots or not.
  Quantity cpus_of_a_worker() const {
    Quantity each = experiment_.needs.cpus;
    for (const int index : search_.eligible)
      if (supply(index).kind == SlotKind::cpus) each = std::max(each, supply(index).use);
    return each;
  }

  std::string trainer_text() const {
    const TrainerNeeds& trainer = experiment_.trainer;
    std::vector<std::string> parts;
    if (!trainer.cpus.is_zero()) parts.push_back(counted(to_string(trainer.cpus), "CPU"));
    if (!trainer.gpus.is_zero()) parts.push_back(counted(to_string(trainer.gpus), "GPU"));
    if (trainer.memory > 0) parts.push_back(memory_text(trainer.memory));
    for (const auto& [name, quantity] : trainer.custom)
      parts.push_back(fmt::format("{} {}", to_string(quantity), name));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  std::string room_beside_trainer() const {
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

  std::string slices_reason() const {
    const SliceNeeds& needs = *experiment_.slices;
    if (rule_.is_one_host() && needs.slices * needs.hosts > 1)
      return fmt::format(
          "{} workers on one host ({}) and a TPU slice of {} hosts exclude each other",
          experiment_.workers, rule_.is_single_node ? "is_single_node" : "placement: strict_pack",
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
  std::string slice_text(const TpuSliceHosts& slice) const {
    const SliceNeeds& needs = *experiment_.slices;
    if (static_cast<int>(slice.hosts.size()) != needs.hosts)
      return counted(fmt::format("{}", slice.hosts.size()), "host");
    const auto usable = std::count_if(slice.hosts.begin(), slice.hosts.end(), [&](int index) {
      return room(index).workers >= needs.workers_per_host;
    });
    if (usable < needs.hosts) return fmt::format("{} of {} hosts usable", usable, needs.hosts);
    return fmt::format("not {} chips on every host", needs.chips_per_host);
  }

  // Pool and type fail only alone when no host is left, or too few for one worker each.
  std::string lacks_enough(const std::string& one, const std::string& many) const {
    const auto left = std::count_if(search_.failed_rooms.begin(), search_.failed_rooms.end(),
                                    [](const Room& each) { return each.workers > 0; });
    if (left == 0) return fmt::format("no host {}", one);
    return fmt::format("{} workers asked, one on each host, only {} {} {}", experiment_.workers,
                       left, left == 1 ? "host" : "hosts", left == 1 ? one : many);
  }

  // Every worker takes one slot, so slots and workers are the same number.
  bool workers_are_slots() const {
    return constraint_.kind == Constraint::Kind::slots &&
           experiment_.needs.slots == Quantity::of(1) &&
           std::all_of(search_.eligible.begin(), search_.eligible.end(), [&](int index) {
             const SlotSupply each = supply(index);
             return each.kind == SlotKind::missing || each.use == Quantity::of(1);
           });
  }

  std::string asked() const {
    if (counts_slots_)
      return fmt::format("{} asked", counted(fmt::format("{}", experiment_.workers), slot_word()));
    std::string each = share();
    if (!each.empty()) each = " of " + each + (experiment_.workers == 1 ? "" : " each");
    return fmt::format("{}{} asked", counted(fmt::format("{}", experiment_.workers), "worker"),
                       each);
  }

  // What one worker takes of the resource that is short.
  std::string share() const {
    const WorkerNeeds& needs = experiment_.needs;
    switch (constraint_.kind) {
      case Constraint::Kind::cpus:
        return counted(to_string(needs.cpus), "CPU");
      case Constraint::Kind::memory:
        return memory_text(*needs.memory);
      case Constraint::Kind::custom:
        return fmt::format("{} {}", to_string(needs.custom.at(constraint_.name)), constraint_.name);
      default:
        break;
    }
    if (!needs.slots.is_zero() && (needs.gpus_named || needs.tpus_named))
      return counted(to_string(needs.slots), slot_word());
    if (!needs.cpus.is_zero() && uses_cpus()) return counted(to_string(needs.cpus), "CPU");
    return needs.slots.is_zero() ? std::string() : counted(to_string(needs.slots), slot_word());
  }

  bool uses_cpus() const {
    return std::any_of(search_.eligible.begin(), search_.eligible.end(),
                       [&](int index) { return supply(index).kind == SlotKind::cpus; });
  }

  // What one host has of the resource that is short.
  std::string owned(int index) const {
    const Host& each = host(index);
    switch (constraint_.kind) {
      case Constraint::Kind::cpus:
        return each.cpus ? counted(to_string(*each.cpus), "CPU") : std::string("CPUs not said");
      case Constraint::Kind::memory:
        return each.memory ? memory_text(*each.memory) : std::string("memory not said");
      case Constraint::Kind::custom: {
        const auto found = each.custom.find(constraint_.name);
        return found == each.custom.end()
                   ? fmt::format("no {}", constraint_.name)
                   : fmt::format("{} {}", to_string(found->second), constraint_.name);
      }
      default:
        break;
    }
    const SlotSupply slots = supply(index);
    if (slots.kind == SlotKind::missing) return fmt::format("no {}", slot_word());
    return counted(to_string(slots.size), slots.kind == SlotKind::cpus ? "CPU" : slot_word());
  }

  std::string room_of(int index) const {
    if (counts_slots_) return fmt::format("{}", room(index).workers);
    if (room(index).workers >= unlimited_workers) return "any";
    return fmt::format("{} ({})", room(index).workers, owned(index));
  }

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const int index : search_.eligible) sum += room(index).workers;
    return sum;
  }

  std::string room_of_all() const {
    std::vector<HostAmount> amounts;
    for (const int index : search_.eligible) amounts.push_back({host(index).name, room_of(index)});
    return list_amounts(amounts);
  }

  std::string shortage_reason() const {
    if (rule_.is_one_host()) return one_host_reason();
    if (rule_.policy == PlacementPolicy::strict_spread) return strict_spread_reason();
    const std::string noun = counts_slots_ ? "" : "room for ";
    const std::string sum = fmt::format("{}", total());
    if (search_.eligible.size() == 1 && counts_slots_)
      return fmt::format("{}, {} {}", asked(), subject("has", "have"),
                         room(search_.eligible.front()).workers == 0 ? "none" : sum);
    if (search_.eligible.size() == 1)
      return fmt::format("{}, {} room for {}", asked(), subject("has", "have"),
                         room_of(search_.eligible.front()));
    return fmt::format("{}, {} {}{}: {}", asked(), subject("has", "have"), noun,
                       total() == 0 ? "none" : sum, room_of_all());
  }

  std::string one_host_reason() const {
    const char* why = rule_.is_single_node ? "is_single_node" : "placement: strict_pack";
    int best = search_.eligible.front();
    for (const int index : search_.eligible)
      if (room(index).workers > room(best).workers) best = index;
    if (search_.eligible.size() == 1)
      return fmt::format("{} on one host ({}), {} has {}{}", asked(), why, host(best).name,
                         counts_slots_ ? "" : "room for ", room_of(best));
    return fmt::format("{} on one host ({}), the largest, {}, has {}{}; the {} hosts: {}", asked(),
                       why, host(best).name, counts_slots_ ? "" : "room for ", room_of(best),
                       search_.eligible.size(), room_of_all());
  }

  std::string strict_spread_reason() const {
    if (rule_.is_single_node && experiment_.workers > 1)
      return fmt::format(
          "{} workers on one host (is_single_node) and one on each host (placement: strict_spread) "
          "exclude each other",
          experiment_.workers);
    std::vector<std::string> usable;
    for (const int index : search_.eligible)
      if (room(index).workers > 0) usable.push_back(host(index).name);
    const std::string share_text = share();
    return fmt::format(
        "{} workers asked, one on each host (placement: strict_spread), {} of {} "
        "can take one{}{}",
        experiment_.workers, usable.empty() ? "none" : fmt::format("{}", usable.size()),
        counted(fmt::format("{}", search_.eligible.size()), "host"),
        share_text.empty() ? "" : fmt::format(" of {}", share_text),
        usable.empty() ? "" : ": " + summarize_hosts(usable));
  }

  // Enough in all, but not in whole hosts.
  std::string policy_reason() const {
    std::map<int, int, std::greater<>> whole;
    int largest = 0;
    int rest = 0;
    for (const int index : search_.eligible) {
      largest = std::max(largest, room(index).workers);
      if (room(index).is_whole())
        ++whole[room(index).fill];
      else
        ++rest;
    }
    const char* noun = experiment_.needs.slots == Quantity::of(1) ? "slot" : "worker";
    const std::string mixed = rule_.allow_heterogeneous ? "any sizes" : "one size";
    return fmt::format(
        "{} asked: the largest host has room for {}, and whole hosts of {} do not make {} ({})",
        counted(fmt::format("{}", experiment_.workers), noun), largest, mixed, experiment_.workers,
        fmt::join(sizes_text(whole, rest), ", "));
  }

  // Per size why its hosts do not make up the request.
  std::vector<std::string> sizes_text(const std::map<int, int, std::greater<>>& whole,
                                      int rest) const {
    std::vector<std::string> parts;
    constexpr std::size_t most_sizes = 6;
    const int asked_for = experiment_.workers;
    for (const auto& [size, hosts] : whole) {
      if (parts.size() == most_sizes) break;
      parts.push_back(fmt::format("{} of {}", counted(fmt::format("{}", hosts), "host"), size));
      const std::int64_t sum = std::int64_t{size} * hosts;
      if (rule_.allow_heterogeneous) continue;
      parts.back() += asked_for % size != 0
                          ? fmt::format(": {} is no multiple", asked_for)
                          : fmt::format(": {} in all, {} too few", sum, asked_for - sum);
    }
    if (whole.size() > most_sizes)
      parts.push_back(fmt::format("{} more sizes", whole.size() - most_sizes));
    if (rest > 0)
      parts.push_back(
          fmt::format("{} that cannot be used wholly", counted(fmt::format("{}", rest), "host")));
    return parts;
  }

  void add_cpu_hint(std::vector<std::string>& lines) const {
    if (constraint_.kind != Constraint::Kind::slots || experiment_.needs.gpus_named) return;
    const auto counted_by_cpu =
        std::find_if(search_.eligible.begin(), search_.eligible.end(),
                     [&](int index) { return supply(index).kind == SlotKind::cpus; });
    if (counted_by_cpu == search_.eligible.end()) return;
    const std::string& name = host(*counted_by_cpu).name;
    lines.push_back(fmt::format(
        "a host without accelerators has its CPUs as slots: declare more (-H {}:{}), or let a "
        "worker take less (resources_per_worker: {{CPU: 0.5}})",
        name, experiment_.workers));
  }

  void add_unsaid_hint(std::vector<std::string>& lines) const {
    if (constraint_.kind != Constraint::Kind::slots) return;
    std::vector<std::string> unsaid;
    for (const int index : search_.eligible)
      if (supply(index).unsaid) unsaid.push_back(host(index).name);
    if (unsaid.empty()) return;
    lines.push_back(
        fmt::format("{} {} nothing of slots and {} as one: write '{} slots=N', or -H {}:N",
                    summarize_hosts(unsaid), unsaid.size() == 1 ? "says" : "say",
                    unsaid.size() == 1 ? "counts" : "count each", unsaid.front(), unsaid.front()));
  }

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  const HostSearch& search_;
  const Constraint& constraint_;
  PlacementRule rule_;
  bool counts_slots_;
};

// Who holds something of the hosts that the experiment could use, in order of their hosts.
std::vector<Holder> holders_of(const HostInventory& inventory, const HostSearch& search,
                               const Occupancy& occupancy) {
  std::unordered_map<std::string_view, int> place_of;
  for (const int index : search.eligible)
    place_of.emplace(inventory.hosts[static_cast<std::size_t>(index)].name, index);
  std::map<std::string, std::map<int, Quantity>> held;  // by holder, by host
  for (const HostUse& use : occupancy) {
    const auto host = place_of.find(use.host);
    if (host == place_of.end()) continue;
    Quantity& slots = held[use.holder][host->second];
    for (const auto& [slot, share] : use.slots) slots = slots + share;
  }
  std::vector<std::pair<int, Holder>> holders;  // with their first host
  for (const auto& [name, hosts] : held) {
    Holder holder{.holder = name, .hosts = {}, .slots = {}};
    for (const auto& [index, slots] : hosts) {
      holder.hosts.push_back(inventory.hosts[static_cast<std::size_t>(index)].name);
      holder.slots = holder.slots + slots;
    }
    holders.emplace_back(hosts.begin()->first, std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Holder> sorted;
  for (auto& [first, holder] : holders) sorted.push_back(std::move(holder));
  return sorted;
}

}  // namespace

Refusal explain_refusal(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const HostSearch& search) {
  Refusal refusal;
  refusal.reasons = Explanation(experiment, inventory, search).reasons();
  refusal.changes = changes_that_fit(experiment, inventory);
  refusal.nearest = nearest_counts(experiment, search);
  return refusal;
}

Refusal explain_busy(const ExperimentConfig& experiment, const HostInventory& inventory,
                     const HostSearch& search, const Occupancy& occupancy) {
  Refusal refusal{.kind = Refusal::Kind::busy, .reasons = {}, .nearest = {}};
  refusal.reasons.push_back("not now: " +
                            Explanation(experiment, inventory, search).first_reason());
  refusal.holders = holders_of(inventory, search, occupancy);
  refusal.nearest = nearest_counts(experiment, search);
  return refusal;
}

Refusal refuse(const ExperimentConfig& experiment, const HostSearch& search, std::string reason) {
  return {.kind = Refusal::Kind::never,
          .reasons = {std::move(reason)},
          .nearest = nearest_counts(experiment, search)};
}

}  // namespace train
