// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/environment.hpp"

namespace train {

/// The plan as one JSON document that follows config_schema/fields/plan.schema.json, with the whole
/// environment of every rank (secrets redacted). Ends with a newline.
std::string plan_to_json(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                         const LauncherEnvironment& launcher);

/// `{"refused": {"kind": "never", "reasons": [...], "nearest": [...]}}`, of the same schema.
std::string refusal_to_json(const Refusal& refusal);

}  // namespace train
