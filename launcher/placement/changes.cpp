// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config_schema/fields/field_table.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/placement/host_search.hpp"
#include "launcher/placement/placement.hpp"

namespace train {
namespace {

using Keys = std::vector<WrittenKey>;

Keys written(const ExperimentConfig& experiment, std::string_view path) {
  const auto found = experiment.written.keys.find(path);
  return found == experiment.written.keys.end() ? Keys() : found->second;
}

// The keys to set so that the new value takes effect. A flag overrides a file, but not another
// flag, so each key that was written as a flag is set; a removed value is removed everywhere.
Keys keys_to_set(const ExperimentConfig& experiment, std::string_view path, bool takes_away) {
  Keys all = written(experiment, path);
  if (all.empty()) return {{std::string(path), false}};
  if (takes_away) return all;
  Keys of_flags;
  for (const WrittenKey& key : all)
    if (key.is_flag) of_flags.push_back(key);
  if (of_flags.empty()) all.resize(1);
  return of_flags.empty() ? all : of_flags;
}

std::string memory_value(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
  if (bytes % gibibyte == 0) return fmt::format("{}GiB", bytes / gibibyte);
  if (bytes % mebibyte == 0) return fmt::format("{}MiB", bytes / mebibyte);
  return fmt::format("{}", bytes);
}

}  // namespace

std::string set_key(const ExperimentConfig& experiment, std::string_view path,
                    const std::string& yaml) {
  std::string options;
  for (const WrittenKey& key : keys_to_set(experiment, path, yaml == "null")) {
    const bool is_in_capitals = leaf_of(key.path) == "placement_strategy";
    options += fmt::format(
        "{}--set {}", options.empty() ? "" : " ",
        shell_quoted(fmt::format("{}={}", key.path, is_in_capitals ? to_upper(yaml) : yaml)));
  }
  return options;
}

std::string set_worker_needs(const ExperimentConfig& experiment, const WorkerNeeds& needs) {
  std::vector<std::string> amounts;
  if (needs.cpus_named || !needs.cpus.is_zero())
    amounts.push_back(fmt::format("CPU: {}", to_string(needs.cpus)));
  if (needs.tpus_named)
    amounts.push_back(fmt::format("TPU: {}", to_string(needs.slots)));
  else if (needs.gpus_named)
    amounts.push_back(fmt::format("GPU: {}", to_string(needs.slots)));
  if (needs.memory) amounts.push_back("memory: " + memory_value(*needs.memory));
  for (const auto& [name, quantity] : needs.custom)
    amounts.push_back(fmt::format("{}: {}", yaml_string(name), to_string(quantity)));
  return set_key(experiment, "resources.resources_per_worker",
                 fmt::format("{{{}}}", fmt::join(amounts, ", ")));
}

std::string set_slots(const ExperimentConfig& experiment, Quantity slots) {
  constexpr std::string_view path = "resources.slots_per_trial";
  const Keys keys = written(experiment, path);
  if (keys.empty()) return {};
  const bool is_option =
      std::any_of(keys.begin(), keys.end(), [](const WrittenKey& key) { return key.path == "-n"; });
  return is_option ? "-n " + to_string(slots) : set_key(experiment, path, to_string(slots));
}

std::string yaml_string(const std::string& text) {
  constexpr std::string_view inside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  const bool is_plain = !text.empty() && text.find_first_not_of(inside) == text.npos &&
                        text.front() != '-' && text.find("...") == text.npos &&
                        resolve_plain_scalar(text).kind == YamlKind::string;
  return is_plain ? text : json_quoted(text);
}

namespace {

constexpr std::size_t most_changes = 4;
constexpr std::size_t most_alternatives = 4;  // types or pools that are tried

class Changes {
 public:
  Changes(const ExperimentConfig& experiment, const HostInventory& inventory)
      : experiment_(experiment), inventory_(inventory) {}

  std::vector<Change> find() {
    try_placement();
    try_trainer();
    try_other_hosts();
    // Workers with fewer resources train differently: suggested only if nothing milder helps.
    if (found_.empty()) try_amounts();
    return std::move(found_);
  }

 private:
  bool fits(const ExperimentConfig& changed) const {
    return search_hosts(changed, inventory_).is_placed();
  }

  // An experiment that fits may still be refused, for example because of its backend, so only a
  // change that can be planned is suggested.
  void name(const ExperimentConfig& changed, std::string options, std::string remark = {}) {
    if (found_.size() < most_changes && fits(changed) && make_plan(changed, inventory_))
      found_.push_back({std::move(options), std::move(remark)});
  }

  template <class Set>
  void try_key(std::string_view path, const std::string& yaml, Set set) {
    ExperimentConfig changed = experiment_;
    set(changed);
    name(changed, set_key(experiment_, path, yaml));
  }

  void try_placement() {
    if (experiment_.slices) return;
    const bool is_automatic = experiment_.placement == PlacementPolicy::automatic;
    if (is_automatic && !experiment_.allow_heterogeneous && !experiment_.is_single_node)
      try_key("resources.allow_heterogeneous", "true",
              [](auto& changed) { changed.allow_heterogeneous = true; });
    if (experiment_.is_single_node)
      try_key("resources.is_single_node", "false",
              [](auto& changed) { changed.is_single_node = false; });
    if (experiment_.placement == PlacementPolicy::strict_spread)
      try_key("resources.placement", "spread",
              [](auto& changed) { changed.placement = PlacementPolicy::spread; });
    else if (experiment_.placement != PlacementPolicy::pack)
      try_key("resources.placement", "pack",
              [](auto& changed) { changed.placement = PlacementPolicy::pack; });
  }

  void try_trainer() {
    if (!experiment_.trainer.empty())
      try_key("scaling_config.trainer_resources", "{CPU: 0}",
              [](auto& changed) { changed.trainer = {}; });
  }

  // Tries hosts of another type or pool, or with other labels.
  void try_other_hosts() {
    if (!experiment_.needs.accelerator_type.empty() && !experiment_.needs.tpus_named)
      for (const std::string& type :
           others(&Host::accelerator_type, experiment_.needs.accelerator_type))
        try_key("scaling_config.accelerator_type", yaml_string(type),
                [&](auto& changed) { changed.needs.accelerator_type = type; });
    if (!experiment_.resource_pool.empty())
      for (const std::string& pool : others(&Host::pool, experiment_.resource_pool))
        try_key("resources.resource_pool", yaml_string(pool),
                [&](auto& changed) { changed.resource_pool = pool; });
    if (!experiment_.label_selectors.empty())
      try_key("scaling_config.label_selector", "null",
              [](auto& changed) { changed.label_selectors.clear(); });
  }

  std::vector<std::string> others(std::string Host::*property, const std::string& own) const {
    std::set<std::string> names;
    for (const Host& host : inventory_.hosts)
      if (!(host.*property).empty() && host.*property != own) names.insert(host.*property);
    std::vector<std::string> some(names.begin(), names.end());
    some.resize(std::min(some.size(), most_alternatives));
    return some;
  }

  // Tries less of one resource for each worker; only the user knows whether that is enough for the
  // ranks.
  void try_amounts() {
    try_gpus();
    const WorkerNeeds& needs = experiment_.needs;
    const bool has_cpu_slots = std::any_of(
        inventory_.hosts.begin(), inventory_.hosts.end(),
        [&](const Host& host) { return slot_supply(host, needs).kind == SlotKind::cpus; });
    if (needs.cpus.is_zero() && !needs.cpus_named && has_cpu_slots)
      name_needs(with_cpus(amount(5'000)));
    try_less(needs.cpus.parts(), Quantity::scale,
             [&](std::int64_t parts) { return with_cpus(amount(parts)); });
    constexpr std::int64_t of_a_gibibyte = 1024;
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    try_less(static_cast<std::int64_t>(needs.memory.value_or(0) / mebibyte), of_a_gibibyte,
             [&](std::int64_t mebibytes) {
               WorkerNeeds less = needs;
               less.memory = static_cast<std::uint64_t>(mebibytes) * mebibyte;
               return less;
             });
    for (const auto& [name, quantity] : needs.custom) {
      const std::string& resource = name;
      try_less(quantity.parts(), Quantity::scale, [&](std::int64_t parts) {
        WorkerNeeds less = needs;
        less.custom[resource] = amount(parts);
        return less;
      });
    }
  }

  WorkerNeeds with_cpus(Quantity cpus) const {
    WorkerNeeds needs = experiment_.needs;
    needs.cpus = cpus;
    needs.cpus_named = true;
    return needs;
  }

  ExperimentConfig with_needs(WorkerNeeds needs) const {
    ExperimentConfig changed = experiment_;
    changed.needs = std::move(needs);
    return changed;
  }

  void name_needs(const WorkerNeeds& needs) {
    name(with_needs(needs), set_worker_needs(experiment_, needs));
  }

  // Finds the largest amount below `asked` with which the experiment fits, in whole units if it is
  // at least one.
  template <class Needs>
  void try_less(std::int64_t asked, std::int64_t unit, Needs needs_of) {
    const auto serves = [&](std::int64_t value) { return fits(with_needs(needs_of(value))); };
    if (asked <= 1 || found_.size() >= most_changes || !serves(1)) return;
    std::int64_t fit = 1;
    std::int64_t too_much = asked;
    while (too_much - fit > 1) {
      const std::int64_t middle = fit + (too_much - fit) / 2;
      (serves(middle) ? fit : too_much) = middle;
    }
    const std::int64_t whole = fit - fit % unit;
    name_needs(needs_of(whole > 0 && serves(whole) ? whole : fit));
  }

  // Tries half of each worker's GPUs; the number of workers stays.
  void try_gpus() {
    const Quantity each = experiment_.needs.slots;
    const bool may_share = experiment_.backend != CollectiveBackend::nccl;
    const bool has_gpus =
        experiment_.needs.gpus_named ||
        std::any_of(inventory_.hosts.begin(), inventory_.hosts.end(),
                    [](const Host& host) { return host.accelerators.value_or(0) > 0; });
    if (!has_gpus || experiment_.needs.tpus_named || each.is_zero()) return;
    std::int64_t largest = 1;  // maximum GPUs of one host
    for (const Host& host : inventory_.hosts)
      largest = std::max<std::int64_t>(largest, slot_count(host).value_or(1));
    int tries = 0;
    constexpr int most_tries = 16;
    for (std::int64_t fewer = std::min(each.whole() - 1, largest); fewer >= 1; --fewer) {
      if (each.whole() % fewer != 0) continue;
      if (++tries > most_tries || try_gpus_of(Quantity::of(fewer))) return;
    }
    const std::vector<Quantity> shares = {amount(5'000), amount(2'500)};
    for (const Quantity share : shares)
      if (may_share && share < each && try_gpus_of(share)) return;
  }

  // If the request counts slots, their number changes with the GPUs of a worker.
  bool try_gpus_of(Quantity each) {
    const std::size_t before = found_.size();
    const int workers = experiment_.workers;
    const Quantity slots = each * workers;
    if (experiment_.counts_slots && !slots.is_whole()) return false;
    ExperimentConfig changed = experiment_;
    changed.needs.slots = each;
    changed.needs.gpus_named = true;
    changed.slots = slots;
    std::string options = set_worker_needs(experiment_, changed.needs);
    const std::string count = experiment_.counts_slots ? set_slots(experiment_, slots) : "";
    if (!count.empty()) options += " " + count;
    name(changed, std::move(options),
         each < Quantity::of(1) ? fmt::format("{} then share GPUs",
                                              workers == 1 ? "the rank and what else runs there"
                                                           : fmt::format("the {} ranks", workers))
                                : std::string());
    return found_.size() > before;
  }

  static Quantity amount(std::int64_t parts) {
    return *Quantity::from_double(static_cast<double>(parts) / Quantity::scale);
  }

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  std::vector<Change> found_;
};

}  // namespace

std::vector<Change> changes_that_fit(const ExperimentConfig& experiment,
                                     const HostInventory& inventory) {
  return Changes(experiment, inventory).find();
}

}  // namespace train
