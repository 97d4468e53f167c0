// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// A trial with so many ranks on each of its hosts, "h0", "h1", ...
inline Trial trial_of(const std::vector<int>& ranks_per_host) {
  Trial trial;
  for (const int ranks : ranks_per_host) {
    const int host = static_cast<int>(trial.hosts.size());
    PlannedHost& planned = trial.hosts.emplace_back();
    planned.host.name = "h" + std::to_string(host);
    planned.first_rank = trial.world_size;
    planned.rank_count = planned.worker_count = ranks;
    for (int local = 0; local < ranks; ++local) {
      PlannedRank& rank = trial.ranks.emplace_back();
      rank.rank = trial.world_size++;
      rank.local_rank = local;
      rank.host = host;
    }
  }
  return trial;
}

}  // namespace train
