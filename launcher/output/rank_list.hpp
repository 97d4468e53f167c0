// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Parses ranks as users write them: "0", "4-7", "0,4-7". Nothing for any other text, and for ranks
/// above the highest possible rank.
std::optional<std::set<int>> parse_rank_list(std::string_view text);

/// The inverse for ranks in ascending order, shortened where it would be long: "0,4-7",
/// "0,2,4,6,8,10 and 26 more".
std::string rank_list_text(const std::vector<int>& ranks);

}  // namespace train
