// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// Ascending ranks, folded: "0-2,5".
std::string fold_ranks(const std::vector<int>& ranks);

/// "rank 5 was" or "ranks 0-2,5 were", to begin a sentence with.
std::string ranks_were(const std::vector<int>& ranks);

}  // namespace train
