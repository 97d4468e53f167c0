// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/capacity/capacity.hpp"
#include "launcher/placement/policies.hpp"
#include "launcher/placement/selected_workers.hpp"

namespace train {

/// What was found out about the hosts for one experiment, constraint by constraint.
struct HostSearch {
  std::vector<Constraint> constraints;
  std::vector<int> eligible;  ///< hosts (indices, file order) that pool, type and labels leave
  std::vector<Room> rooms;    ///< of every host, all constraints taken into account
  std::vector<int> counts;    ///< workers of every host; empty when there is no placement
  SelectedWorkers selected;   ///< when the label selectors of workers differ
  std::vector<TpuSliceHosts> slices;  ///< of the inventory, when the experiment takes slices
  /// The first constraint under which there is no placement, and whether the hosts have too little
  /// in all (else they have enough, and the policy cannot use it).
  std::size_t failed = 0;
  bool is_shortage = false;
  std::vector<Room> failed_rooms;  ///< of every host, as that constraint left them

  bool is_placed() const { return !counts.empty(); }
};

/// Places the experiment's workers on what the holdings leave of the hosts.
HostSearch search_hosts(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const Holdings& holdings = {});

/// Places another number of workers of the same kind in the rooms of a search that is over; whole
/// slices where the experiment takes slices. Never a number other than the experiment's own when
/// its workers select hosts one by one.
std::optional<std::vector<int>> place_again(const ExperimentConfig& experiment,
                                            const HostSearch& search, int workers);

}  // namespace train
