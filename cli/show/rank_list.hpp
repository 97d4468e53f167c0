// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace train {

/// Parses ranks as users write them: "0", "4-7", "0,4-7". Nothing for any other text, and for ranks
/// above the highest possible rank.
std::optional<std::set<int>> parse_rank_list(std::string_view text);

}  // namespace train
