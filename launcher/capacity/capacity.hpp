// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/quantity.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/slot_supply.hpp"

namespace train {

/// The free slots of one host while workers are placed on it. No slot is given twice.
class SlotRoom {
 public:
  explicit SlotRoom(int slots);
  /// The free share of each slot; slot i has `free[i]`, at most 1.
  explicit SlotRoom(const std::vector<Quantity>& free);

  /// Takes whole slots, lowest index first, or a fraction of the slot with the least remaining room
  /// that fits it (ties: lowest index). Returns the indices, ascending; empty if it does not fit,
  /// or if the quantity is 0. Above one slot, only whole quantities fit.
  std::vector<int> take(Quantity quantity);

  /// How often `take(quantity)` would succeed; not for a quantity of 0.
  std::int64_t count(Quantity quantity) const;

  /// Takes `quantity` away where it costs the fewest later `take(each)`; of equally good slots,
  /// those with the least room, then the last ones. Returns the indices, ascending; empty if it
  /// does not fit, or if the quantity is 0.
  std::vector<int> set_aside(Quantity quantity, Quantity each);

 private:
  std::set<std::pair<std::int64_t, int>> rooms_;  ///< (remaining room, slot), without full slots
};

/// Means "no limit": no experiment requests more workers.
inline constexpr int unlimited_workers = 1 << 30;

/// The room of one host for workers.
struct Room {
  int workers = 0;         ///< that fit
  int fill = 0;            ///< workers that use all its slots; 0: not idle, or no number does
  std::int64_t free = 0;   ///< free slots, in ten-thousandths
  std::int64_t use = 0;    ///< slots used by one worker, in ten-thousandths
  int beside_trainer = 0;  ///< workers that fit beside the trainer; -1: the trainer does not fit
  int fill_beside_trainer = 0;  ///< workers that use all slots that the trainer leaves

  /// Whether the host is idle and workers can use all its slots.
  bool is_whole() const { return fill > 0 && workers >= fill; }
};

/// A placement: the workers of each host, in file order.
using WorkerCounts = std::vector<int>;

/// The free share of each slot of the supply, whose kind must be devices or places. `held` may be
/// nullptr.
SlotRoom slot_room(const Host& host, const SlotSupply& supply, const HeldOfHost* held);

/// One host as seen by placement: its resources, and what others hold of it now.
struct HostView {
  const Host& host;
  const HeldOfHost* held = nullptr;
};

/// The slots of a host that the trainer takes for its GPUs, and the remaining room.
struct TrainerSlots {
  SlotRoom left;
  std::vector<int> slots;  ///< ascending; empty if they do not fit, or if the trainer needs no GPU
};
TrainerSlots trainer_slots(const HostView& view, const ExperimentConfig& experiment);

/// The free slots of the supply, as a sum including fractions.
Quantity free_slots(const Host& host, const SlotSupply& supply, const HeldOfHost* held);

/// What limits the workers of a host; checked in this order.
struct Constraint {
  enum class Kind { pool, accelerator_type, labels, slots, cpus, memory, custom, trainer, slices };
  Kind kind = Kind::slots;
  std::string name;  ///< of a custom resource

  /// Whether it selects hosts: a host that does not satisfy it takes no worker, and one that does
  /// is not limited by it.
  bool picks_hosts() const {
    return kind == Kind::pool || kind == Kind::accelerator_type || kind == Kind::labels;
  }
  bool operator==(const Constraint&) const = default;
};

/// The constraints of the experiment for these hosts. A pool counts only if some host names one.
std::vector<Constraint> constraints_of(const ExperimentConfig& experiment,
                                       const HostInventory& inventory);

/// The workers that the host could take now if nothing else limited it. Undeclared CPUs and memory
/// are no limit (the agent checks them); an undeclared custom resource counts as absent. Not for
/// `trainer` and `slices`.
int workers_allowed(const Constraint& constraint, const HostView& view,
                    const ExperimentConfig& experiment);

/// The workers that the host could take beside the trainer under all constraints; -1 if the trainer
/// alone does not fit.
int workers_beside_trainer(const HostView& view, const ExperimentConfig& experiment,
                           const std::vector<Constraint>& constraints);

/// The number of workers that use all slots of an idle host; 0 if no number does.
int workers_that_fill(const SlotSupply& supply);

/// The same for the slots that the trainer leaves; other resources are ignored.
int workers_that_fill_beside_trainer(const Host& host, const ExperimentConfig& experiment);

}  // namespace train
