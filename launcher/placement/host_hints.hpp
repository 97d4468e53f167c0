// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/placement/host_search.hpp"

namespace train {

/// Hints for a search that found no placement because hosts declare too little, or use other words
/// than the experiment: one line each, often none.
std::vector<std::string> host_hints(const ExperimentConfig& experiment,
                                    const HostInventory& inventory, const HostSearch& search);

}  // namespace train
