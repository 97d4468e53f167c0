// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/experiment_config.hpp"
#include "config_schema/host_inventory.hpp"

namespace train {

/// As many workers as anybody may ask for; stands for "not limited".
inline constexpr int unlimited_workers = 1 << 30;

/// What a slot of a host is to a worker.
enum class SlotKind {
  devices,  ///< accelerators, known or relied on
  places,   ///< a place for one worker
  cpus,     ///< the host's CPUs
  beside,   ///< none is taken: a CPU-only worker on a host with accelerators
  missing,  ///< GPUs are asked for and the host has none
};

/// The slots of one host, for workers of one kind.
struct SlotSupply {
  SlotKind kind = SlotKind::missing;
  Quantity size = {};   ///< slots of the host
  Quantity use = {};    ///< of them, one worker's share
  bool unsaid = false;  ///< the host says nothing of its size: counted as one slot
  bool relied = false;  ///< GPUs are asked for, the host says "slots" and no word of GPUs
};

/// A host with accelerators: they are its slots, a declared number of slots limits them. Else the
/// declared slots; else its CPUs; else one slot. Of a filtered host, the slots that are left.
SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs);

/// What limits the workers of a host; checked in this order.
struct Constraint {
  enum class Kind { pool, accelerator_type, slots, cpus, memory, custom };
  Kind kind = Kind::slots;
  std::string name;  ///< of a custom resource

  bool operator==(const Constraint&) const = default;
};

/// The constraints that the experiment puts on these hosts. A pool counts only when some host
/// names one.
std::vector<Constraint> constraints_of(const ExperimentConfig& experiment,
                                       const HostInventory& inventory);

/// Workers that the host could take if nothing else limited it. CPUs and memory that a host does
/// not declare are no limit (its agent checks them); an undeclared custom resource is not there.
int workers_allowed(const Constraint& constraint, const Host& host,
                    const ExperimentConfig& experiment);

/// Workers that leave no slot of an idle host without one; 0 when no number does.
int workers_that_fill(const SlotSupply& supply);

}  // namespace train
