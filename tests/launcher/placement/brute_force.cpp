// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/placement/brute_force.hpp"

#include <algorithm>
#include <functional>

namespace train::brute_force {
namespace {

using Counts = std::vector<int>;

// What is left of one host once others have their part.
struct Left {
  bool has_devices = false;  // its slots are accelerators
  bool has_places = false;   // its slots are places for workers, or one that it does not name
  std::vector<std::int64_t> devices;  // free parts of each
  bool is_idle = true;                // nobody holds a slot
  std::optional<std::int64_t> cpus;
  std::optional<std::uint64_t> memory;
  std::map<std::string, std::int64_t> custom;
};

Left left_of(const Host& host, const Occupancy& occupancy) {
  Left left;
  left.has_devices = host.accelerators.value_or(0) > 0;
  left.has_places = !left.has_devices && (host.slots || !host.cpus);
  const int slots = left.has_devices ? *host.accelerators : host.slots.value_or(1);
  if (left.has_devices || left.has_places)
    left.devices.assign(static_cast<std::size_t>(slots), Quantity::scale);
  if (host.cpus) left.cpus = host.cpus->parts();
  left.memory = host.memory;
  for (const auto& [name, quantity] : host.custom) left.custom[name] = quantity.parts();
  for (const HostUse& use : occupancy) {
    if (use.host != host.name) continue;
    for (const auto& [slot, share] : use.slots) {
      left.devices[static_cast<std::size_t>(slot)] -= share.parts();
      left.is_idle = false;
    }
    const bool has_cpu_slots = !left.has_devices && !left.has_places;
    if (has_cpu_slots && !use.cpus.is_zero()) left.is_idle = false;
    if (left.cpus) *left.cpus -= use.cpus.parts();
    if (left.memory) *left.memory -= use.memory;
    for (const auto& [name, quantity] : use.custom) left.custom[name] -= quantity.parts();
  }
  return left;
}

// Whether these demands on devices, one after the other, can be met: each a fraction of one device,
// or several whole ones.
bool fit_devices(std::vector<std::int64_t> free, std::vector<std::int64_t> asks) {
  if (asks.empty()) return true;
  const std::int64_t ask = asks.back();
  asks.pop_back();
  if (ask == 0) return fit_devices(std::move(free), std::move(asks));
  if (ask >= Quantity::scale) {
    std::int64_t wanted = ask / Quantity::scale;
    for (std::int64_t& device : free)
      if (wanted > 0 && device == Quantity::scale) device = 0, --wanted;
    return wanted == 0 && fit_devices(std::move(free), std::move(asks));
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i] < ask) continue;
    std::vector<std::int64_t> less = free;
    less[i] -= ask;
    if (fit_devices(std::move(less), asks)) return true;
  }
  return false;
}

bool fits(const Host& host, const Left& left, int workers, bool has_trainer,
          const ExperimentConfig& experiment) {
  const WorkerNeeds& needs = experiment.needs;
  const TrainerNeeds trainer = has_trainer ? experiment.trainer : TrainerNeeds{};
  if (!needs.accelerator_type.empty() && host.accelerator_type != needs.accelerator_type)
    return false;
  if (!experiment.resource_pool.empty() && host.pool != experiment.resource_pool) return false;
  const bool has_cpu_slots = !left.has_devices && !left.has_places;
  const bool wants_gpus = needs.gpus_named && !needs.slots.is_zero();
  if (wants_gpus && (has_cpu_slots || host.accelerators == 0)) return false;
  if (has_cpu_slots) {
    // A worker takes its CPUs there; one, or its slots, when it names none.
    std::int64_t each = std::max(Quantity::scale, needs.slots.parts());
    if (needs.slots.is_zero() && needs.cpus_named) each = 0;
    if (!needs.cpus.is_zero()) each = needs.cpus.parts();
    if (!trainer.gpus.is_zero()) return false;
    if (each * workers + trainer.cpus.parts() > *left.cpus) return false;
  } else {
    // A worker without GPUs takes a place, and nothing of a host's accelerators.
    std::int64_t each = needs.slots.parts();
    if (each == 0 && left.has_places) each = Quantity::scale;
    // Fractions last, so that whole devices are taken while they are whole.
    std::vector<std::int64_t> asks(static_cast<std::size_t>(workers), each);
    asks.push_back(trainer.gpus.parts());
    std::sort(asks.begin(), asks.end());
    if (!fit_devices(left.devices, asks)) return false;
  }
  if (left.cpus && needs.cpus.parts() * workers + trainer.cpus.parts() > *left.cpus) return false;
  if (left.memory &&
      needs.memory.value_or(0) * static_cast<std::uint64_t>(workers) + trainer.memory >
          *left.memory)
    return false;
  for (const auto& [name, quantity] : needs.custom) {
    const auto own = left.custom.find(name);
    if ((own == left.custom.end() ? 0 : own->second) < quantity.parts() * workers) return false;
  }
  return true;
}

// Whether the workers can be told apart so that each is on a host that it selects.
bool select(const ExperimentConfig& experiment, const HostInventory& inventory, Counts counts,
            std::size_t worker) {
  const auto& selectors = experiment.label_selectors;
  if (selectors.empty()) return true;
  if (worker == static_cast<std::size_t>(experiment.workers)) return true;
  const LabelSelector& selector = selectors.size() == 1 ? selectors[0] : selectors[worker];
  for (std::size_t h = 0; h < counts.size(); ++h) {
    if (counts[h] == 0 || !matches(selector, inventory.hosts[h].labels)) continue;
    --counts[h];
    if (select(experiment, inventory, counts, worker + 1)) return true;
    ++counts[h];
  }
  return false;
}

class Planner {
 public:
  Planner(const ExperimentConfig& experiment, const HostInventory& inventory,
          const Occupancy& occupancy)
      : experiment_(experiment), inventory_(inventory) {
    for (const Host& host : inventory.hosts) left_.push_back(left_of(host, occupancy));
  }

  std::vector<Counts> all() {
    Counts counts(inventory_.hosts.size());
    extend(counts, 0, experiment_.workers);
    return std::move(found_);
  }

 private:
  void extend(Counts& counts, std::size_t host, int missing) {
    if (host == counts.size()) {
      if (missing == 0 && obeys(counts) && select(experiment_, inventory_, counts, 0))
        found_.push_back(counts);
      return;
    }
    for (int n = 0; n <= missing; ++n) {
      const bool is_first =
          std::all_of(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(host),
                      [](int each) { return each == 0; });
      if (n > 0 && !fits(inventory_.hosts[host], left_[host], n, is_first, experiment_)) break;
      counts[host] = n;
      extend(counts, host + 1, missing - n);
    }
    counts[host] = 0;
  }

  // Every slot of an idle host is used: no whole device, or room for one worker more, is left.
  bool is_whole(std::size_t host, int workers, bool is_first) const {
    const Left& left = left_[host];
    if (!left.is_idle) return false;
    std::int64_t each = experiment_.needs.slots.parts();
    if (each == 0 && left.has_devices) return false;  // it takes no slot there
    if (each == 0) each = Quantity::scale;
    if (!left.has_devices && !left.has_places) {
      const Quantity cpus = experiment_.needs.cpus;
      std::int64_t share = std::max(Quantity::scale, experiment_.needs.slots.parts());
      if (!cpus.is_zero()) share = cpus.parts();
      if (cpus.is_zero() && experiment_.needs.cpus_named && experiment_.needs.slots.is_zero())
        return false;  // "CPU: 0" takes nothing
      const std::int64_t of_trainer = is_first ? experiment_.trainer.cpus.parts() : 0;
      const std::int64_t rest = *left.cpus - of_trainer - share * workers;
      return rest >= 0 && rest < Quantity::scale && rest < share;
    }
    const auto size = static_cast<std::int64_t>(left.devices.size()) * Quantity::scale;
    const std::int64_t of_trainer = is_first ? experiment_.trainer.gpus.parts() : 0;
    if (of_trainer > 0 && each < Quantity::scale) {
      std::vector<std::int64_t> asks(static_cast<std::size_t>(workers) + 1, each);
      asks.push_back(of_trainer);
      std::sort(asks.begin(), asks.end());
      return !fit_devices(left_[host].devices, asks);
    }
    if (each < Quantity::scale)
      return !fit_devices(left_[host].devices,
                          std::vector<std::int64_t>(static_cast<std::size_t>(workers) + 1, each));
    // The trainer has whole devices, or one that no worker gets.
    const std::int64_t kept = of_trainer > 0 ? std::max(of_trainer, Quantity::scale) : 0;
    const std::int64_t rest = size - each * workers - kept;
    return rest >= 0 && rest < Quantity::scale;
  }

  int workers_that_fill_alone(std::size_t host) const {
    for (int workers = 1; workers <= 64; ++workers)
      if (is_whole(host, workers, false)) return workers;
    return 0;
  }

  bool obeys(const Counts& counts) const {
    std::vector<std::size_t> used;
    for (std::size_t h = 0; h < counts.size(); ++h)
      if (counts[h] > 0) used.push_back(h);
    if (experiment_.is_single_node && used.size() > 1) return false;
    switch (experiment_.placement) {
      case PlacementPolicy::in_order:
      case PlacementPolicy::pack:
      case PlacementPolicy::spread:
        return true;
      case PlacementPolicy::strict_pack:
        return used.size() == 1;
      case PlacementPolicy::strict_spread:
        return std::all_of(used.begin(), used.end(), [&](std::size_t h) { return counts[h] == 1; });
      case PlacementPolicy::automatic:
        break;
    }
    if (used.size() == 1) return true;
    // Hosts are of one size when the same number of workers would fill them; the trainer of the
    // first host is not counted in that.
    const auto size = [&](std::size_t h) { return workers_that_fill_alone(h); };
    for (const std::size_t h : used)
      if (!is_whole(h, counts[h], h == used.front())) return false;
    return experiment_.allow_heterogeneous || used.empty() ||
           std::all_of(used.begin(), used.end(),
                       [&](std::size_t h) { return size(h) == size(used.front()); });
  }

  const ExperimentConfig& experiment_;
  const HostInventory& inventory_;
  std::vector<Left> left_;
  std::vector<Counts> found_;
};

}  // namespace

std::vector<std::vector<int>> placements(const ExperimentConfig& experiment,
                                         const HostInventory& inventory,
                                         const Occupancy& occupancy) {
  return Planner(experiment, inventory, occupancy).all();
}

}  // namespace train::brute_force
