// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/placement/host_search.hpp"
#include "launcher/plan/plan.hpp"

namespace train {

/// How many trials like this one fit in the rooms of a search that found a placement, and how many
/// of them run at once: `max_concurrent_trials`, `max_slots` (Determined) and the number of trials
/// limit them. A bound below which the count is exact is said by `is_at_least`: with a trainer, or
/// with whole hosts of several sizes, trials are laid one after the other.
TrialCounts trials_at_once(const ExperimentConfig& experiment, const HostSearch& search);

}  // namespace train
