// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/search_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/host_fold.hpp"

namespace train {

SearchWords::SearchWords(const ExperimentConfig& experiment, const HostInventory& inventory,
                         const HostSearch& search)
    : experiment_(experiment),
      inventory_(inventory),
      search_(search),
      constraint_(search.constraints[search.failed]),
      counts_slots_(workers_are_slots()) {}

bool SearchWords::workers_are_slots() const {
  return constraint_.kind == Constraint::Kind::slots &&
         experiment_.needs.slots == Quantity::of(1) &&
         std::all_of(search_.eligible.begin(), search_.eligible.end(), [&](int index) {
           const SlotSupply each = supply(index);
           return each.kind == SlotKind::missing || each.use == Quantity::of(1);
         });
}

// The word for a slot.
std::string SearchWords::slot_word() const {
  if (experiment_.needs.tpus_named) return "TPU chip";
  return experiment_.needs.gpus_named ? "GPU" : "slot";
}

std::string SearchWords::workers_text() const { return counted(experiment_.workers, "worker"); }

std::string SearchWords::asked() const {
  if (counts_slots_)
    return fmt::format("{} asked", counted(fmt::format("{}", experiment_.workers), slot_word()));
  std::string each = share();
  if (!each.empty()) each = " of " + each + (experiment_.workers == 1 ? "" : " each");
  return fmt::format("{}{} asked", counted(fmt::format("{}", experiment_.workers), "worker"), each);
}

std::string SearchWords::share() const {
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

bool SearchWords::uses_cpus() const {
  return std::any_of(search_.eligible.begin(), search_.eligible.end(),
                     [&](int index) { return supply(index).kind == SlotKind::cpus; });
}

// The amount of the short resource on one host.
std::string SearchWords::owned(int index) const {
  const Host& each = host(index);
  if (supply(index).kind == SlotKind::missing) return fmt::format("no {}", slot_word());
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
  // Only the part that others do not hold.
  const auto free = Quantity::from_double(static_cast<double>(room(index).free) / Quantity::scale);
  return counted(to_string(slots.has_slots() && free ? *free : slots.size),
                 slots.kind == SlotKind::cpus ? "CPU" : slot_word());
}

std::string SearchWords::room_of(int index) const {
  if (counts_slots_) return fmt::format("{}", room(index).workers);
  if (room(index).workers >= unlimited_workers) return "any";
  return fmt::format("{} ({})", room(index).workers, owned(index));
}

std::int64_t SearchWords::total() const {
  std::int64_t sum = 0;
  for (const int index : search_.eligible) sum += room(index).workers;
  return sum;
}

std::string SearchWords::room_of_all() const {
  std::vector<HostAmount> amounts;
  for (const int index : search_.eligible) amounts.push_back({host(index).name, room_of(index)});
  return list_amounts(amounts);
}

std::string SearchWords::subject(const std::string& verb_of_one,
                                 const std::string& verb_of_many) const {
  if (search_.eligible.size() == 1)
    return fmt::format("{} {}", host(search_.eligible.front()).name, verb_of_one);
  return fmt::format("the {} hosts{} {}", search_.eligible.size(), selection(), verb_of_many);
}

std::string SearchWords::selection() const {
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

std::string SearchWords::lacks_enough(const std::string& one, const std::string& many) const {
  const auto left = std::count_if(search_.failed_rooms.begin(), search_.failed_rooms.end(),
                                  [](const Room& each) { return each.workers > 0; });
  if (left == 0) return fmt::format("no host {}", one);
  return fmt::format("{} workers asked, one on each host, only {} {} {}", experiment_.workers, left,
                     left == 1 ? "host" : "hosts", left == 1 ? one : many);
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  if (bytes >= gib && bytes % (gib / 4) == 0)
    return fmt::format("{:g} GiB", static_cast<double>(bytes) / gib);
  if (bytes >= gib) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib);
  if (bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  return fmt::format("{} bytes", bytes);
}

std::string undeclared_slots_text(const std::vector<std::string>& hosts) {
  return fmt::format("{} {} nothing of slots and {} as one: write '{} slots=N', or -H {}:N",
                     summarize_hosts(hosts), hosts.size() == 1 ? "says" : "say",
                     hosts.size() == 1 ? "counts" : "count each", hosts.front(), hosts.front());
}

}  // namespace train
