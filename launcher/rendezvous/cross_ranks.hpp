// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// For each rank the ranks of the same local rank on all hosts, as Horovod counts them
/// (horovod/runner/common/util/hosts.py): a host with fewer ranks takes part in fewer of these
/// groups. Both counts in one pass over all ranks.
class CrossRanks {
 public:
  /// Of no trial: every rank is alone.
  CrossRanks() = default;
  explicit CrossRanks(const Trial& trial);

  /// The rank's place in its group: hosts before its own that have its local rank.
  int rank_of(const PlannedRank& rank) const;
  /// Hosts that have the local rank.
  int size_of(const PlannedRank& rank) const;

 private:
  std::vector<int> ranks_;  ///< by rank
  std::vector<int> sizes_;  ///< by local rank
};

}  // namespace train
