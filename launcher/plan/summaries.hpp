// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config_schema/text/text.hpp"

namespace train {

/// A host and a text about it.
struct HostAmount {
  std::string host;
  std::string amount;
};

/// "node01 4, node02 4" for a few hosts; for many, those with the same amount together:
/// "node[01-16] 8 each, gpu-b 4". Limited to a few parts; the rest is counted.
std::string list_amounts(const std::vector<HostAmount>& amounts);

/// Ascending ranks, folded: "0-2,5".
std::string fold_ranks(const std::vector<int>& ranks);

/// "rank 5 was" or "ranks 0-2,5 were", for the beginning of a sentence.
std::string ranks_were(const std::vector<int>& ranks);

}  // namespace train
