// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config_schema/text/text.hpp"

namespace train {

/// A host and what is said of it.
struct HostAmount {
  std::string host;
  std::string amount;
};

/// "node01 4, node02 4" for a few hosts; for many, those of the same amount together:
/// "node[01-16] 8 each, gpu-b 4". Never longer than a few pieces; the rest is counted.
std::string list_amounts(const std::vector<HostAmount>& amounts);

/// Ascending ranks, folded: "0-2,5".
std::string fold_ranks(const std::vector<int>& ranks);

/// "rank 5 was" or "ranks 0-2,5 were", to begin a sentence with.
std::string ranks_were(const std::vector<int>& ranks);

}  // namespace train
