// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "launcher/wire/rank_usage.hpp"

namespace train {

/// The usage of a rank in JSON: a short list, since there can be many, and shorter where nothing is
/// known of GPUs. The reader throws `Malformed`.
nlohmann::json json_of_usage(const UsageOfRank& used);
UsageOfRank usage_of_json(const nlohmann::json& value);

}  // namespace train
