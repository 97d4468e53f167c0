// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/placement/choose_hosts.hpp"

namespace train {

/// The hosts of one TPU slice: those that declare the same `slice:`, or one host that declares
/// none.
struct TpuSliceHosts {
  std::string name;        ///< of the slice; the host's where it declares none
  std::vector<int> hosts;  ///< indices, file order
};

/// The slices of an inventory, by their first host.
std::vector<TpuSliceHosts> slices_of(const HostInventory& inventory);

/// Whether every host of the slice is there and can take its workers: as many hosts as `needs`
/// says, each with `chips_per_host` slots and room for `workers_per_host`.
bool is_whole_slice(const TpuSliceHosts& slice, const SliceNeeds& needs,
                    const std::vector<Room>& rooms);

/// Workers of every room: `workers_per_host` on each host of the first slices that are whole. With
/// a trainer the first host of all has room for it. Nothing when too few slices are whole, or when
/// the rule wants one host and the trial has more.
std::optional<std::vector<int>> choose_slices(const std::vector<TpuSliceHosts>& slices,
                                              const SliceNeeds& needs,
                                              const std::vector<Room>& rooms,
                                              const PlacementRule& rule);

}  // namespace train
