// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What a slot of a host means for a worker.
enum class SlotKind {
  devices,  ///< accelerators, declared or assumed
  places,   ///< a place for one worker
  cpus,     ///< the host's CPUs
  beside,   ///< no slot is taken: a CPU-only worker on a host with accelerators
  missing,  ///< accelerators are requested and the host has none of the kind
};

/// The slots of one host, for workers of one kind.
struct SlotSupply {
  SlotKind kind = SlotKind::missing;
  Quantity size = {};       ///< slots of the host
  Quantity use = {};        ///< slots that one worker takes
  bool undeclared = false;  ///< the host declares no number of slots, so it counts as one slot
  /// GPUs are requested, so its slots count as GPUs, although not declared as such.
  bool gpus_assumed = false;
  bool asked_at_launch = false;  ///< only the host can tell whether its slots are GPUs, or which

  /// Whether slots are allocated one by one; CPUs are allocated as a number.
  bool takes_singly() const { return kind == SlotKind::devices || kind == SlotKind::places; }
  bool has_slots() const { return kind != SlotKind::beside && kind != SlotKind::missing; }
};

/// For a host with accelerators these are its slots, limited by a declared number of slots. Else
/// the declared slots; else its CPUs; else one slot. For a filtered host, only the remaining slots.
SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs);

}  // namespace train
