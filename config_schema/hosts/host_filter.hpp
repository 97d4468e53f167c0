// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// What a filter does with the hosts and slots that it names.
enum class FilterKind {
  include,  ///< keeps only these (--include)
  exclude,  ///< keeps all others (--exclude)
};

/// The hosts and slots that remain after a filter, in the order of the inventory. DeepSpeed's
/// grammar, `NAME[:SLOT,...][@NAME[:SLOT,...]...]`, where a name may be a host set and slots may be
/// ranges: `w[0-1]:0-2@gpu-b`. A host without slots means all its slots. A slot or host that is
/// named more than once counts once; the slots of several parts for one host add up. IPv6 addresses
/// are in brackets. Names ignore case.
///
/// Slots are numbered from 0, up to `slot_count`; where they are GPUs, slot N is the Nth usable GPU
/// of the host. A host that loses its last slot is removed.
///
/// Errors are of class `hosts`: an unknown host or slot (with the nearest existing one), slots of a
/// host whose number of slots is unknown, an empty filter, and one that leaves nothing.
Result<HostInventory> filter_hosts(HostInventory inventory, FilterKind kind,
                                   const std::string& filter);

}  // namespace train
