// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/environment.hpp"

namespace train {

/// The environment of every rank, or of the one asked for (which the plan has), as blocks that a
/// POSIX shell can source: a comment that names the rank, then `export NAME='value'` lines. What
/// only a launch can know, secrets, and variables that shells cannot set are comments.
std::string plan_to_env(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                        const LauncherEnvironment& launcher, std::optional<int> rank = {});

}  // namespace train
