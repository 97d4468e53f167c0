// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/placement/host_search.hpp"

namespace train {

/// The nearest counts below and above the experiment's that these hosts can take and whose batch
/// can be split, ascending, each checked by placing it, in the unit of the request: slots of the
/// trial, which must come out whole, or workers where these are counted or take no slots. The
/// search for them is bounded; where it ends without a find nothing is claimed.
std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search);

}  // namespace train
