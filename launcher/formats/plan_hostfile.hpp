// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan/plan.hpp"

namespace train {

/// The hosts of the plan as DeepSpeed's hostfile, in rank order: `node01 slots=8`, where slot N is
/// device N and the count covers the highest that is used (deepspeed/launcher/runner.py). On hosts
/// whose slots are no devices it is the number of workers. What such a file cannot say is in
/// comments: which slots (as `--include`), ranks that are not one per slot, addresses and ports.
std::string plan_to_hostfile(const Plan& plan);

}  // namespace train
