// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// What a rank has used so far, with all that it has started, as far as its agent has seen.
struct RankUsage {
  milliseconds cpu{0};  ///< of the user and the system
  /// Bytes that its processes have in memory now; what several of them share counts for each.
  /// Nothing: it has ended.
  std::optional<std::uint64_t> memory = {};
  std::uint64_t memory_peak = 0;  ///< the most of that at a time; 0: not known

  bool operator==(const RankUsage&) const = default;
};

struct UsageOfRank {
  int rank = 0;
  RankUsage usage = {};

  bool operator==(const UsageOfRank&) const = default;
};

/// How many ranks one message is about.
inline constexpr std::size_t most_usages = 2'048;

}  // namespace train
