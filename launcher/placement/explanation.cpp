// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/accelerator_type.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/text.hpp"

namespace train {

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  if (bytes >= gib && bytes % (gib / 4) == 0)
    return fmt::format("{:g} GiB", static_cast<double>(bytes) / gib);
  if (bytes >= gib) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib);
  if (bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  return fmt::format("{} bytes", bytes);
}

std::vector<std::string> Explanation::reasons() const {
  std::vector<std::string> lines{first_reason()};
  add_type_hint(lines);
  add_slice_hint(lines);
  add_cpu_hint(lines);
  add_unsaid_hint(lines);
  return lines;
}

std::string Explanation::first_reason() const {
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

std::string Explanation::pool_reason() const {
  return fmt::format("{} in pool '{}': {}", lacks_enough("is", "are"), experiment_.resource_pool,
                     inventory_by([](const Host& each) {
                       return each.pool.empty() ? std::string("(no pool)") : each.pool;
                     }));
}

std::string Explanation::type_reason() const {
  return fmt::format("{} accelerator_type '{}' (matched exactly): {}", lacks_enough("has", "have"),
                     experiment_.needs.accelerator_type, inventory_by([](const Host& each) {
                       return each.accelerator_type.empty() ? std::string("(not said)")
                                                            : each.accelerator_type;
                     }));
}

// Nearly the same name is another model (H100, H200): only another way to write it is meant.
void Explanation::add_type_hint(std::vector<std::string>& lines) const {
  if (constraint_.kind != Constraint::Kind::accelerator_type) return;
  const auto plain = [](std::string_view type) {
    std::string text = to_lower(type);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '_' || c == ' '; }, '-');
    return text;
  };
  const std::string& wanted = experiment_.needs.accelerator_type;
  bool is_said = false;
  for (const Host& each : inventory_.hosts) {
    const std::string& type = each.accelerator_type;
    if (type.empty()) continue;
    is_said = true;
    if (type == wanted) continue;
    if (plain(type) == plain(wanted) || type == accelerator_type_of(wanted))
      return lines.push_back(fmt::format("did you mean '{}'?", type));
  }
  if (!is_said)
    lines.emplace_back("no host says its type: write 'accelerator_type:' in the hosts file");
}

// A host that names no slice is one by itself.
void Explanation::add_slice_hint(std::vector<std::string>& lines) const {
  if (constraint_.kind != Constraint::Kind::slices || experiment_.slices->hosts == 1) return;
  std::vector<std::string> unsaid;
  for (const int index : search_.eligible)
    if (host(index).slice.empty()) unsaid.push_back(host(index).name);
  if (unsaid.empty()) return;
  lines.push_back(
      fmt::format("{} {} no slice: write 'slice: NAME' for each host in the hosts file, the same "
                  "for all hosts of a slice",
                  summarize_hosts(unsaid), unsaid.size() == 1 ? "names" : "name"));
}

std::string Explanation::labels_reason() const {
  std::string wanted = to_string(experiment_.label_selectors.front());
  if (experiment_.label_selectors.size() > 1)
    wanted += fmt::format(" (and {} more selectors)", experiment_.label_selectors.size() - 1);
  return fmt::format("{} label_selector {}: {}", lacks_enough("matches", "match"), wanted,
                     inventory_by([&](const Host& each) { return labels_of(each); }));
}

// What a host says of the labels that are selected by.
std::string Explanation::labels_of(const Host& each) const {
  std::string text;
  for (const LabelCondition& condition : experiment_.label_selectors.front()) {
    const auto label = each.labels.find(condition.label);
    text +=
        fmt::format("{}{}", text.empty() ? "" : ", ",
                    label == each.labels.end() ? fmt::format("no {}", condition.label)
                                               : fmt::format("{}={}", label->first, label->second));
  }
  return text.empty() ? std::string("(any)") : text;
}

void Explanation::add_cpu_hint(std::vector<std::string>& lines) const {
  if (constraint_.kind != Constraint::Kind::slots || experiment_.needs.gpus_named) return;
  if (search_.eligible.size() != 1 || supply(search_.eligible.front()).kind != SlotKind::cpus)
    return;
  const auto index = static_cast<std::size_t>(search_.eligible.front());
  HostInventory declared = inventory_;
  declared.hosts[index].slots = experiment_.workers;
  if (!search_hosts(experiment_, declared).is_placed()) return;
  lines.push_back(
      fmt::format("a host without accelerators has its CPUs as slots: declare more, as in -H {}:{}",
                  inventory_.hosts[index].name, experiment_.workers));
}

void Explanation::add_unsaid_hint(std::vector<std::string>& lines) const {
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

std::string Explanation::asked() const {
  if (counts_slots_)
    return fmt::format("{} asked", counted(fmt::format("{}", experiment_.workers), slot_word()));
  std::string each = share();
  if (!each.empty()) each = " of " + each + (experiment_.workers == 1 ? "" : " each");
  return fmt::format("{}{} asked", counted(fmt::format("{}", experiment_.workers), "worker"), each);
}

// What one worker takes of the resource that is short.
std::string Explanation::share() const {
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

bool Explanation::uses_cpus() const {
  return std::any_of(search_.eligible.begin(), search_.eligible.end(),
                     [&](int index) { return supply(index).kind == SlotKind::cpus; });
}

// What one host has of the resource that is short.
std::string Explanation::owned(int index) const {
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
  // What others hold is not counted.
  const auto free = Quantity::from_double(static_cast<double>(room(index).free) / Quantity::scale);
  return counted(to_string(slots.has_slots() && free ? *free : slots.size),
                 slots.kind == SlotKind::cpus ? "CPU" : slot_word());
}

std::string Explanation::room_of(int index) const {
  if (counts_slots_) return fmt::format("{}", room(index).workers);
  if (room(index).workers >= unlimited_workers) return "any";
  return fmt::format("{} ({})", room(index).workers, owned(index));
}

std::int64_t Explanation::total() const {
  std::int64_t sum = 0;
  for (const int index : search_.eligible) sum += room(index).workers;
  return sum;
}

std::string Explanation::room_of_all() const {
  std::vector<HostAmount> amounts;
  for (const int index : search_.eligible) amounts.push_back({host(index).name, room_of(index)});
  return list_amounts(amounts);
}

// "the 2 hosts have", "node01 has": of those that pool and type leave.
std::string Explanation::subject(const std::string& verb_of_one,
                                 const std::string& verb_of_many) const {
  if (search_.eligible.size() == 1)
    return fmt::format("{} {}", host(search_.eligible.front()).name, verb_of_one);
  return fmt::format("the {} hosts{} {}", search_.eligible.size(), selection(), verb_of_many);
}

std::string Explanation::selection() const {
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

// Pool and type fail only alone when no host is left, or too few for one worker each.
std::string Explanation::lacks_enough(const std::string& one, const std::string& many) const {
  const auto left = std::count_if(search_.failed_rooms.begin(), search_.failed_rooms.end(),
                                  [](const Room& each) { return each.workers > 0; });
  if (left == 0) return fmt::format("no host {}", one);
  return fmt::format("{} workers asked, one on each host, only {} {} {}", experiment_.workers, left,
                     left == 1 ? "host" : "hosts", left == 1 ? one : many);
}

// Every worker takes one slot, so slots and workers are the same number.
bool Explanation::workers_are_slots() const {
  return constraint_.kind == Constraint::Kind::slots &&
         experiment_.needs.slots == Quantity::of(1) &&
         std::all_of(search_.eligible.begin(), search_.eligible.end(), [&](int index) {
           const SlotSupply each = supply(index);
           return each.kind == SlotKind::missing || each.use == Quantity::of(1);
         });
}

}  // namespace train
