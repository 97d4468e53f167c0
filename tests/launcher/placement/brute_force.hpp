// SPDX-License-Identifier: Apache-2.0
#pragma once
// A planner that tries everything, written from the definitions of the policies alone: what the
// real one is compared with on small clusters.

#include <vector>

#include "launcher/placement/placement.hpp"

namespace train::brute_force {

/// Every choice of workers per host that obeys the experiment's policy on what is free.
std::vector<std::vector<int>> placements(const ExperimentConfig& experiment,
                                         const HostInventory& inventory,
                                         const Occupancy& occupancy);

}  // namespace train::brute_force
