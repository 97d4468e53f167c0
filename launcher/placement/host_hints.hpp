// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"

namespace train {

/// What might help a search that found no placement because hosts say too little of themselves, or
/// say it with other words than the experiment: a line each, often none.
std::vector<std::string> host_hints(const ExperimentConfig& experiment,
                                    const HostInventory& inventory, const HostSearch& search);

}  // namespace train
