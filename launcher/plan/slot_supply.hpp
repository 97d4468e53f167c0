// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What a slot of a host is to a worker.
enum class SlotKind {
  devices,  ///< accelerators, known or relied on
  places,   ///< a place for one worker
  cpus,     ///< the host's CPUs
  beside,   ///< none is taken: a CPU-only worker on a host with accelerators
  missing,  ///< accelerators are asked for and the host has none of the kind
};

/// The slots of one host, for workers of one kind.
struct SlotSupply {
  SlotKind kind = SlotKind::missing;
  Quantity size = {};            ///< slots of the host
  Quantity use = {};             ///< of them, one worker's share
  bool unsaid = false;           ///< the host says nothing of its size: counted as one slot
  bool relied = false;           ///< GPUs are asked for, the host says "slots" and no word of GPUs
  bool asked_at_launch = false;  ///< it says no word of GPUs: only it can say what its slots are

  /// Each slot is given to somebody; CPUs are handed out in sum.
  bool takes_singly() const { return kind == SlotKind::devices || kind == SlotKind::places; }
  bool has_slots() const { return kind != SlotKind::beside && kind != SlotKind::missing; }
};

/// A host with accelerators: they are its slots, a declared number of slots limits them. Else the
/// declared slots; else its CPUs; else one slot. Of a filtered host, the slots that are left.
SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs);

}  // namespace train
