// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan.hpp"
#include "launcher/rendezvous/environment.hpp"

namespace train {

/// The environment of every rank as a block that a POSIX shell can source: a comment that names the
/// rank, then `export NAME='value'` lines. What only a launch can know, and secrets, are comments.
std::string plan_to_env(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                        const LauncherEnvironment& launcher);

}  // namespace train
