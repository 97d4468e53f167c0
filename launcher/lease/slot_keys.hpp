// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// What the slots of a host are, as far as a plan knows it.
struct SlotNature {
  bool are_devices = false;      ///< as PlannedHost::slots_are_gpus
  bool asked_at_launch = false;  ///< as PlannedHost::devices_at_launch
};

/// The key that the holder of this slot holds.
LeaseKey key_of_slot(const Host& host, SlotNature nature, int slot);

}  // namespace train
