// SPDX-License-Identifier: Apache-2.0
#include "launcher/placement/single_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "launcher/placement/host_search.hpp"

namespace train {
namespace {

constexpr std::size_t most_changes = 4;
constexpr std::size_t most_alternatives = 4;  // types or pools that are tried

class Changes {
 public:
  Changes(const ExperimentConfig& experiment, const HostInventory& inventory)
      : experiment_(experiment), inventory_(inventory) {}

  std::vector<std::string> find() {
    try_placement();
    try_trainer();
    try_other_hosts();
    // Workers that take less train otherwise: named only where nothing milder helps.
    if (found_.empty()) try_amounts();
    return std::move(found_);
  }

 private:
  bool fits(const ExperimentConfig& changed) const {
    return search_hosts(changed, inventory_).is_placed();
  }

  template <class Change>
  void attempt(std::string text, Change change) {
    if (found_.size() >= most_changes) return;
    ExperimentConfig changed = experiment_;
    change(changed);
    if (fits(changed)) found_.push_back(std::move(text));
  }

  void try_placement() {
    if (experiment_.slices) return;
    const bool is_automatic = experiment_.placement == PlacementPolicy::automatic;
    if (is_automatic && !experiment_.allow_heterogeneous && !experiment_.is_single_node)
      attempt("resources.allow_heterogeneous: true",
              [](auto& changed) { changed.allow_heterogeneous = true; });
    if (experiment_.is_single_node)
      attempt("resources.is_single_node: false",
              [](auto& changed) { changed.is_single_node = false; });
    if (experiment_.placement == PlacementPolicy::strict_spread)
      attempt("resources.placement: spread",
              [](auto& changed) { changed.placement = PlacementPolicy::spread; });
    else if (experiment_.placement != PlacementPolicy::pack)
      attempt("resources.placement: pack",
              [](auto& changed) { changed.placement = PlacementPolicy::pack; });
  }

  // Less of one resource for each worker; whether ranks get on with it only the user knows.
  void try_amounts() {
    try_gpus();
    const WorkerNeeds& needs = experiment_.needs;
    const bool has_cpu_slots = std::any_of(
        inventory_.hosts.begin(), inventory_.hosts.end(),
        [&](const Host& host) { return slot_supply(host, needs).kind == SlotKind::cpus; });
    if (needs.cpus.is_zero() && !needs.cpus_named && has_cpu_slots)
      attempt("resources_per_worker: {CPU: 0.5}",
              [](auto& changed) { changed.needs.cpus = amount(5'000); });
    if (!needs.cpus.is_zero()) {
      const auto set = [](ExperimentConfig& changed, std::int64_t parts) {
        changed.needs.cpus = amount(parts);
      };
      if (const auto most = largest(needs.cpus.parts(), Quantity::scale, set))
        found_.push_back(
            fmt::format("resources_per_worker: {{CPU: {}}}", to_string(amount(*most))));
    }
    if (needs.memory.value_or(0) > mebibyte) {
      const auto set = [](ExperimentConfig& changed, std::int64_t mebibytes) {
        changed.needs.memory = static_cast<std::uint64_t>(mebibytes) * mebibyte;
      };
      const auto asked = static_cast<std::int64_t>(*needs.memory / mebibyte);
      constexpr std::int64_t of_a_gibibyte = 1024;
      if (const auto most = largest(asked, of_a_gibibyte, set))
        found_.push_back(
            *most % of_a_gibibyte == 0
                ? fmt::format("resources_per_worker: {{memory: {}GiB}}", *most / of_a_gibibyte)
                : fmt::format("resources_per_worker: {{memory: {}MiB}}", *most));
    }
    for (const auto& [name, quantity] : needs.custom) {
      const std::string& resource = name;
      const auto set = [&](ExperimentConfig& changed, std::int64_t parts) {
        changed.needs.custom[resource] = amount(parts);
      };
      if (quantity.is_zero()) continue;
      if (const auto most = largest(quantity.parts(), Quantity::scale, set))
        found_.push_back(
            fmt::format("resources_per_worker: {{{}: {}}}", name, to_string(amount(*most))));
    }
  }

  // Half of what each worker has; the number of workers stays.
  void try_gpus() {
    const Quantity each = experiment_.needs.slots;
    const bool may_share = experiment_.backend != CollectiveBackend::nccl;
    const bool has_gpus =
        experiment_.needs.gpus_named ||
        std::any_of(inventory_.hosts.begin(), inventory_.hosts.end(),
                    [](const Host& host) { return host.accelerators.value_or(0) > 0; });
    if (!has_gpus || experiment_.needs.tpus_named || each.is_zero()) return;
    std::int64_t largest = 1;  // GPUs of one host
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

  // Where the request counts slots, these change with the GPUs of a worker.
  bool try_gpus_of(Quantity each) {
    const std::size_t before = found_.size();
    const int workers = experiment_.workers;
    const Quantity slots = each * workers;
    if (experiment_.counts_slots && !slots.is_whole()) return false;
    std::string text = fmt::format("resources_per_worker: {{GPU: {}}}", to_string(each));
    if (experiment_.counts_slots) text += fmt::format(" and slots_per_trial: {}", to_string(slots));
    if (each < Quantity::of(1)) text += fmt::format(" (the {} ranks then share GPUs)", workers);
    attempt(std::move(text), [&](auto& changed) {
      changed.needs.slots = each;
      changed.needs.gpus_named = true;
      changed.slots = slots;
    });
    return found_.size() > before;
  }

  void try_trainer() {
    if (!experiment_.trainer.empty())
      attempt("scaling_config.trainer_resources: {}", [](auto& changed) { changed.trainer = {}; });
  }

  // Hosts of another type or pool, or with other labels.
  void try_other_hosts() {
    if (!experiment_.needs.accelerator_type.empty() && !experiment_.needs.tpus_named)
      for (const std::string& type :
           others(&Host::accelerator_type, experiment_.needs.accelerator_type))
        attempt("scaling_config.accelerator_type: " + type,
                [&](auto& changed) { changed.needs.accelerator_type = type; });
    if (!experiment_.resource_pool.empty())
      for (const std::string& pool : others(&Host::pool, experiment_.resource_pool))
        attempt("resources.resource_pool: " + pool,
                [&](auto& changed) { changed.resource_pool = pool; });
    if (!experiment_.label_selectors.empty())
      attempt("scaling_config.label_selector: null",
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

  // The largest amount below `asked` with which the experiment fits, in whole units where it is at
  // least one; nothing when none does.
  template <class Set>
  std::optional<std::int64_t> largest(std::int64_t asked, std::int64_t unit, Set set) const {
    const auto serves = [&](std::int64_t value) {
      ExperimentConfig changed = experiment_;
      set(changed, value);
      return fits(changed);
    };
    if (found_.size() >= most_changes || !serves(1)) return std::nullopt;
    std::int64_t fit = 1;
    std::int64_t too_much = asked;
    while (too_much - fit > 1) {
      const std::int64_t middle = fit + (too_much - fit) / 2;
      (serves(middle) ? fit : too_much) = middle;
    }
    const std::int64_t whole = fit - fit % unit;
    return whole > 0 && serves(whole) ? whole : fit;
  }

  static Quantity amount(std::int64_t parts) {
    return *Quantity::from_double(static_cast<double>(parts) / Quantity::scale);
  }

  static constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> changes_that_fit(const ExperimentConfig& experiment,
                                          const HostInventory& inventory) {
  return Changes(experiment, inventory).find();
}

}  // namespace train
