// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace train {

/// Ranks as users write them: "0", "4-7", "0,4-7". Nothing for any other text, and for ranks that
/// no task can have.
std::optional<std::set<int>> parse_rank_list(std::string_view text);

}  // namespace train
