// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/capacity/whole_hosts.hpp"
#include "launcher/placement/search_words.hpp"

namespace train {
namespace {

// Explains why a search failed: one reason for each kind of constraint.
class Explanation : public SearchWords {
 public:
  Explanation(const ExperimentConfig& experiment, const HostInventory& inventory,
              const HostSearch& search)
      : SearchWords(experiment, inventory, search), rule_(rule_of(experiment)) {}

  std::string reason() const {
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
    const bool excludes_itself = rule_.is_single_node && experiment_.workers > 1 &&
                                 rule_.policy == PlacementPolicy::strict_spread;
    if (excludes_itself) return strict_spread_reason();
    if (search_.is_shortage) return shortage_reason();
    return search_.selected.are_alike() ? policy_reason() : selectors_reason();
  }

 private:
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

  // The host's values of the labels that the selectors use.
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
        "{} asked, one on each host (placement: strict_spread), {} of {} can take one{}{}",
        workers_text(), usable.empty() ? "none" : fmt::format("{}", usable.size()),
        counted(fmt::format("{}", search_.eligible.size()), "host"),
        share_text.empty() ? "" : fmt::format(" of {}", share_text),
        usable.empty() ? "" : ": " + summarize_hosts(usable));
  }

  // There are enough slots in total, but not as whole hosts.
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
    std::vector<SizeGroup> groups;
    groups.reserve(whole.size());
    for (const auto& [size, hosts] : whole) groups.push_back({size, hosts});
    const bool is_tried = !rule_.allow_heterogeneous || is_searchable(groups, experiment_.workers);
    return fmt::format(
        "{} asked: the largest host has room for {}, and whole hosts of {} do not make {} ({}){}",
        counted(fmt::format("{}", experiment_.workers), noun), largest, mixed, experiment_.workers,
        fmt::join(sizes_text(whole, rest), ", "),
        is_tried ? "" : "; too many sizes and slots to try every mixture");
  }

  // For each size, why its hosts cannot serve the request.
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

  // There is enough room, but not on the hosts that each worker selects.
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
        "{} asked, each on hosts of its own label_selector, and under placement: {} no way was "
        "found "
        "to lay them together: {}",
        workers_text(), to_string(rule_.policy), fmt::join(parts, ", "));
  }

  // Checks the sum first: a host of rank 0 with room for the trainer but not also for a worker is
  // rarer.
  std::string trainer_reason() const {
    if (auto sum = cpu_sum_reason()) return *sum;
    PlacementRule alone = rule_;
    alone.has_trainer = false;
    if (!choose_hosts(search_.failed_rooms, experiment_.workers, alone)) return policy_reason();
    return fmt::format(
        "{} fit, but not with the trainer ({}) on rank 0's host: room for workers beside it: {}",
        workers_text(), trainer_text(), room_beside_trainer());
  }

  // Nothing unless all hosts together declare too few CPUs for the workers and the trainer.
  std::optional<std::string> cpu_sum_reason() const {
    const TrainerNeeds& trainer = experiment_.trainer;
    const Quantity each = cpus_of_a_worker();
    const std::int64_t most_parts = std::numeric_limits<std::int64_t>::max() / 4;
    const bool has_sum = each.parts() < most_parts / experiment_.workers;
    if (trainer.cpus.is_zero() || !has_sum) return std::nullopt;
    const Quantity needed = each * experiment_.workers + trainer.cpus;
    Quantity all;
    for (const int index : search_.eligible) {
      if (!host(index).cpus) return std::nullopt;
      all = all + *host(index).cpus;
    }
    if (all >= needed) return std::nullopt;
    return fmt::format("{} of {} and a trainer of {}{} need {}, {} {}", workers_text(),
                       counted(to_string(each), "CPU"), counted(to_string(trainer.cpus), "CPU"),
                       trainer.is_default ? " (Ray's default)" : "",
                       counted(to_string(needed), "CPU"), subject("has", "have"), to_string(all));
  }

  // The CPUs of one worker, whether or not CPUs are the slots.
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
    return fmt::format("{}{}", fmt::join(parts, ", "), trainer.is_default ? ", Ray's default" : "");
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

  // Why a slice is incomplete.
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

  PlacementRule rule_;
};

}  // namespace

std::string reason_of(const ExperimentConfig& experiment, const HostInventory& inventory,
                      const HostSearch& search) {
  return Explanation(experiment, inventory, search).reason();
}

}  // namespace train
