// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/placement/host_search.hpp"

namespace train {

/// Why a search found no placement, in one line: what was asked, and what the hosts have of what
/// the first constraint that fails is about. The search must not be placed.
std::string reason_of(const ExperimentConfig& experiment, const HostInventory& inventory,
                      const HostSearch& search);

}  // namespace train
