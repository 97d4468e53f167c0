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

/// The result of searching the hosts for one experiment, constraint by constraint.
struct HostSearch {
  std::vector<Constraint> constraints;
  std::vector<int> eligible;  ///< hosts (indices, file order) that satisfy pool, type and labels
  std::vector<Room> rooms;    ///< of every host, under all constraints
  std::vector<int> counts;    ///< workers of every host; empty if there is no placement
  SelectedWorkers selected;   ///< if the label selectors of workers differ
  std::vector<TpuSliceHosts> slices;  ///< of the inventory, if the experiment takes slices
  /// The first constraint without a placement, and whether the hosts have too little in total
  /// (otherwise they have enough, but the policy cannot use it).
  std::size_t failed = 0;
  bool is_shortage = false;
  std::vector<Room> failed_rooms;  ///< of every host, under the constraints up to that one

  bool is_placed() const { return !counts.empty(); }
};

/// Places the experiment's workers on the part of the hosts that is not held.
HostSearch search_hosts(const ExperimentConfig& experiment, const HostInventory& inventory,
                        const Holdings& holdings = {});

/// Places a different number of workers of the same kind in the rooms of a finished search; whole
/// slices if the experiment takes slices. If its workers have individual selectors, only the
/// experiment's own number can be placed.
std::optional<std::vector<int>> place_again(const ExperimentConfig& experiment,
                                            const HostSearch& search, int workers);

}  // namespace train
