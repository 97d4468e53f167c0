// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/placement/host_search.hpp"

namespace train {

/// The nearest counts below and above the experiment's that these hosts can take and whose batch
/// can be split, ascending, each checked by placing it: slots of the trial, or workers when they
/// take no slots. Counts that are no whole number of slots are passed over. The search for them is
/// bounded; where it ends without a find nothing is claimed.
std::vector<int> nearest_counts(const ExperimentConfig& experiment, const HostSearch& search);

}  // namespace train
