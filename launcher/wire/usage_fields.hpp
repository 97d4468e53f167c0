// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/wire/rank_usage.hpp"

namespace train {

/// The usage of ranks in JSON: a short list for each, since there can be many. The readers throw
/// `Malformed`.
nlohmann::json json_of(const UsageOfRank& used);
UsageOfRank usage_of_rank(const nlohmann::json& value);

nlohmann::json json_of(const std::vector<UsageOfRank>& used);
/// A field with at most `most` usages.
std::vector<UsageOfRank> usages_field(const nlohmann::json& object, const char* name,
                                      std::size_t most);

}  // namespace train
