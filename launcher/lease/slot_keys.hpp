// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// What slots of a host are, as far as a plan knows it.
struct SlotNature {
  bool are_devices = false;      ///< as PlannedHost::slots_are_gpus
  bool asked_at_launch = false;  ///< as PlannedHost::devices_at_launch
};

/// What is held by whoever has the slot of this index.
LeaseKey key_of_slot(const Host& host, SlotNature nature, int slot);

}  // namespace train
