// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What a slot of a host is to a worker.
enum class SlotKind {
  devices,  ///< accelerators, declared or assumed
  places,   ///< a place for one worker
  cpus,     ///< the host's CPUs
  beside,   ///< none is taken: a CPU-only worker on a host with accelerators
  missing,  ///< accelerators are asked for and the host has none of the kind
};

/// The slots of one host, for workers of one kind.
struct SlotSupply {
  SlotKind kind = SlotKind::missing;
  Quantity size = {};         ///< slots of the host
  Quantity use = {};          ///< how many of them one worker takes
  bool undeclared = false;    ///< the host declares no number of slots: it counts as one slot
  bool gpus_assumed = false;  ///< GPUs are asked for: its slots count as GPUs, undeclared as such
  bool asked_at_launch = false;  ///< only the host itself can say whether its slots are GPUs

  /// Each slot is given out by itself; CPUs are given out as a number.
  bool takes_singly() const { return kind == SlotKind::devices || kind == SlotKind::places; }
  bool has_slots() const { return kind != SlotKind::beside && kind != SlotKind::missing; }
};

/// A host with accelerators: they are its slots, a declared number of slots limits them. Else the
/// declared slots; else its CPUs; else one slot. Of a filtered host, the slots that are left.
SlotSupply slot_supply(const Host& host, const WorkerNeeds& needs);

}  // namespace train
