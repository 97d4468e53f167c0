// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "launcher/run/outcome.hpp"

namespace train {

/// Puts the failures of a run in order of time and names the one that happened first as its cause,
/// with those that may have been first as well. A rank's failure counts at its instant; a lost host
/// from when it was last heard, since it may have been dead from then on and what failed elsewhere
/// be a consequence. A user's interrupt is the end of the run unless a failure certainly came
/// before it. Sets `cause`, `others`, `simultaneous` and `stop_signal`.
void decide_cause(RunOutcome& outcome, std::vector<Failure> failures,
                  std::optional<Instant> interrupted_at);

}  // namespace train
