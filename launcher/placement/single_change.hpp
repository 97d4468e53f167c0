// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/experiment_config.hpp"
#include "config_schema/host_inventory.hpp"

namespace train {

/// Single changes of the experiment with which it would fit idle hosts, as a file would write them
/// ("allow_heterogeneous: true", "CPU: 3 for each worker"), each of them verified by placing the
/// changed experiment. The mildest first, a few at most; none when no single change is enough.
std::vector<std::string> changes_that_fit(const ExperimentConfig& experiment,
                                          const HostInventory& inventory);

}  // namespace train
