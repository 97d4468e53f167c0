// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/rank_set.hpp"

namespace train {

std::string fold_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (last > i) text += (last == i + 1 ? "," : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string ranks_were(const std::vector<int>& ranks) {
  return ranks.size() == 1 ? "rank " + fold_ranks(ranks) + " was"
                           : "ranks " + fold_ranks(ranks) + " were";
}

}  // namespace train
