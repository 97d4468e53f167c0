// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/cross_ranks.hpp"

namespace train {

CrossRanks::CrossRanks(const Trial& trial) {
  ranks_.reserve(trial.ranks.size());
  for (const PlannedRank& rank : trial.ranks) {
    const auto local = static_cast<std::size_t>(rank.local_rank);
    if (local >= sizes_.size()) sizes_.resize(local + 1);
    ranks_.push_back(sizes_[local]++);
  }
}

int CrossRanks::rank_of(const PlannedRank& rank) const {
  return ranks_.empty() ? 0 : ranks_[static_cast<std::size_t>(rank.rank)];
}

int CrossRanks::size_of(const PlannedRank& rank) const {
  return sizes_.empty() ? 1 : sizes_[static_cast<std::size_t>(rank.local_rank)];
}

}  // namespace train
