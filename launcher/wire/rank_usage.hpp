// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// What a rank has used so far, including all processes that it has started, as seen by its agent.
struct RankUsage {
  milliseconds cpu{0};  ///< user and system time
  /// Memory of its processes now, in bytes; shared memory counts for each process. Nothing: it has
  /// ended.
  std::optional<std::uint64_t> memory = {};
  std::uint64_t memory_peak = 0;  ///< the highest memory use seen; 0: not known
  /// Thousandths of a GPU in use now, summed over its GPUs, and bytes of their memory in use,
  /// whoever uses them. Nothing: not known, or it has none.
  std::optional<std::int64_t> gpu = {};
  std::optional<std::uint64_t> gpu_memory = {};

  /// The same once it has ended: nothing is in use now.
  RankUsage in_total() const { return {.cpu = cpu, .memory_peak = memory_peak}; }

  bool operator==(const RankUsage&) const = default;
};

struct UsageOfRank {
  int rank = 0;
  RankUsage usage = {};

  bool operator==(const UsageOfRank&) const = default;
};

/// Limit of the ranks in one message.
inline constexpr std::size_t most_usages = 2'048;

}  // namespace train
