// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What a filter does with the hosts and slots that it names.
enum class FilterKind {
  include,  ///< only they are left (--include)
  exclude,  ///< all others are left (--exclude)
};

/// The hosts and slots that a filter leaves, in the order of the inventory. DeepSpeed's grammar,
/// `NAME[:SLOT,...][@NAME[:SLOT,...]...]`, where a name may be a host set and slots may be ranges:
/// `w[0-1]:0-2@gpu-b`. A host without slots means all of them. A slot or a host that is named
/// more than once counts once; the slots of several parts for one host add up. IPv6 addresses are
/// in brackets. The case of letters in names does not count.
///
/// Slots count from 0 and are the places that `slot_count` counts; where they are GPUs, slot N is
/// the Nth of the host's GPUs that may be used. A host that loses its last slot is left out.
///
/// Errors are of class `hosts`: an unknown host or slot (with the nearest one that there is), slots
/// of a host that does not say how many it has, an empty filter, and one that leaves nothing.
Result<HostInventory> filter_hosts(HostInventory inventory, FilterKind kind,
                                   const std::string& filter);

}  // namespace train
