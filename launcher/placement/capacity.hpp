// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/placement/holdings.hpp"
#include "launcher/placement/slot_room.hpp"
#include "launcher/plan/slot_supply.hpp"

namespace train {

/// As many workers as anybody may ask for; stands for "not limited".
inline constexpr int unlimited_workers = 1 << 30;

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

  /// It picks hosts: a host has all of it, or is none for this experiment.
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

/// Workers that leave no slot of an idle host without one; 0 when no number does.
int workers_that_fill(const SlotSupply& supply);

/// The same for the slots that the trainer leaves. Only slots are looked at.
int workers_that_fill_beside_trainer(const Host& host, const ExperimentConfig& experiment);

}  // namespace train
