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

/// The free slots of one host while workers are put on it. A slot is never given twice.
class SlotRoom {
 public:
  explicit SlotRoom(int slots);
  /// What is free of each slot; slot i has `free[i]`, at most 1.
  explicit SlotRoom(const std::vector<Quantity>& free);

  /// Takes whole slots, lowest index first, or a fraction of the slot with the least room left
  /// that still holds it (ties: lowest index). Returns the indices, ascending; none when it does
  /// not fit, or when nothing is asked for. Above one slot, only whole quantities fit.
  std::vector<int> take(Quantity quantity);

  /// How often `take(quantity)` would succeed; not for a quantity of 0.
  std::int64_t count(Quantity quantity) const;

  /// Takes `quantity` away where it costs the fewest later `take(each)`; of equally good slots,
  /// those with the least room, then the last ones. Returns the indices, ascending; none when it
  /// does not fit, or when nothing is asked for.
  std::vector<int> set_aside(Quantity quantity, Quantity each);

 private:
  std::set<std::pair<std::int64_t, int>> rooms_;  ///< (room left, slot), empty slots left out
};

/// Stands for "not limited": no experiment asks for more workers.
inline constexpr int unlimited_workers = 1 << 30;

/// What one host can take now.
struct Room {
  int workers = 0;         ///< that fit
  int fill = 0;            ///< workers that use every slot of it; 0: not idle, or cannot be filled
  std::int64_t free = 0;   ///< free slots, in ten-thousandths
  std::int64_t use = 0;    ///< slots of one worker, in ten-thousandths
  int beside_trainer = 0;  ///< workers that fit beside the trainer; -1: the trainer does not
  int fill_beside_trainer = 0;  ///< workers that use every slot that the trainer leaves

  /// The host is idle, and workers can use all its slots.
  bool is_whole() const { return fill > 0 && workers >= fill; }
};

/// A placement: the workers of each host, in file order.
using WorkerCounts = std::vector<int>;

/// What is free of each slot of the supply, which must be devices or places. `held` may be nullptr.
SlotRoom slot_room(const Host& host, const SlotSupply& supply, const HeldOfHost* held);

/// One host as placement sees it: what it has, and what others hold of it now.
struct HostView {
  const Host& host;
  const HeldOfHost* held = nullptr;
};

/// The slots of a host that the trainer takes for its GPUs, and what it leaves.
struct TrainerSlots {
  SlotRoom left;
  std::vector<int> slots;  ///< ascending; none when they do not fit, or when no GPU is asked for
};
TrainerSlots trainer_slots(const HostView& view, const ExperimentConfig& experiment);

/// Slots of the supply that nobody holds, fractions added up.
Quantity free_slots(const Host& host, const SlotSupply& supply, const HeldOfHost* held);

/// What limits the workers of a host; checked in this order.
struct Constraint {
  enum class Kind { pool, accelerator_type, labels, slots, cpus, memory, custom, trainer, slices };
  Kind kind = Kind::slots;
  std::string name;  ///< of a custom resource

  /// It picks hosts: one that does not meet it takes no worker, and one that does is not limited.
  bool picks_hosts() const {
    return kind == Kind::pool || kind == Kind::accelerator_type || kind == Kind::labels;
  }
  bool operator==(const Constraint&) const = default;
};

/// The constraints that the experiment puts on these hosts. A pool counts only when some host
/// names one.
std::vector<Constraint> constraints_of(const ExperimentConfig& experiment,
                                       const HostInventory& inventory);

/// Workers that the host could take now if nothing else limited it. CPUs and memory that a host
/// does not declare are no limit (its agent checks them); an undeclared custom resource is not
/// there. Not for `trainer` and `slices`.
int workers_allowed(const Constraint& constraint, const HostView& view,
                    const ExperimentConfig& experiment);

/// Workers that the host could take beside the trainer, all constraints taken into account; -1 when
/// the trainer alone does not fit.
int workers_beside_trainer(const HostView& view, const ExperimentConfig& experiment,
                           const std::vector<Constraint>& constraints);

/// How many workers take all slots of an idle host; 0 when no number does.
int workers_that_fill(const SlotSupply& supply);

/// The same for the slots that the trainer leaves; other resources are not looked at.
int workers_that_fill_beside_trainer(const Host& host, const ExperimentConfig& experiment);

}  // namespace train
