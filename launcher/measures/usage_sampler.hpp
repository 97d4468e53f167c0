// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "launcher/measures/usage_sample.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/wire/rank_usage.hpp"

namespace train {

/// Makes samples of what hosts report about the ranks of one attempt.
class UsageSampler {
 public:
  explicit UsageSampler(int ranks) : ranks_(ranks) {}

  /// A host has reported this now. A rank that has ended is no part of later samples.
  void used(int rank, const RankUsage& usage, Instant now);
  /// Whether there is anything to sample.
  bool is_empty() const { return used_.empty(); }
  /// What the ranks use now; `at` and `attempt` are not set.
  UsageSample sample(Instant now) const;

 private:
  struct Used {
    RankUsage usage;
    Instant at{0};       ///< of the last report
    nanoseconds gap{0};  ///< between the last two reports; 0: there was one
    std::optional<std::int64_t> cpu = {};
  };

  int ranks_;
  std::map<int, Used> used_;  ///< by rank
};

}  // namespace train
