// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/placement/host_search.hpp"

namespace train {

/// Why a search found no placement, in one line: the request, and what the hosts have for the first
/// constraint that fails. The search must not have a placement.
std::string reason_of(const ExperimentConfig& experiment, const HostInventory& inventory,
                      const HostSearch& search);

}  // namespace train
