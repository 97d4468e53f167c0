// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// Single changes of the experiment with which it would fit idle hosts, as options of the command
/// line that name all that was changed, each of them verified by planning the changed experiment.
/// The mildest first, a few at most; none when no single change is enough.
std::vector<Change> changes_that_fit(const ExperimentConfig& experiment,
                                     const HostInventory& inventory);

}  // namespace train
