// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace train {

/// Limits of the kept output, in bytes including the index.
struct LogLimits {
  std::uint64_t of_rank = UINT64_MAX;
  std::uint64_t of_task = UINT64_MAX;  ///< of all its ranks together
  /// Size at which a new file begins, so that the oldest can be removed.
  std::uint64_t segment = 64u << 20;
};

/// The meaning of an experiment's `log_limit`, which is per rank. Without it, all ranks of a task
/// share 10 GiB, or a tenth of the free space of the logs' file system if that is less.
LogLimits log_limits(std::optional<std::uint64_t> log_limit, std::uint64_t free_bytes,
                     std::size_t ranks);

/// The smallest `log_limit`; a smaller one counts as this.
constexpr std::uint64_t least_log_limit = 16u << 10;

/// Decides which segments of logs are removed when there are too many bytes: first those of the
/// rank with the longest log, so that a rank that prints little keeps its whole log.
class LogBudget {
 public:
  struct Segment {
    int rank = 0;
    std::uint64_t begin = 0;  ///< position of its first byte in the log of the rank
  };

  LogBudget(LogLimits limits, std::size_t ranks) : limits_(limits), logs_(ranks) {}

  /// `bytes` were added to this segment, which is new or the last of its rank.
  void add(Segment segment, std::uint64_t bytes);
  /// A segment that has to be removed now, if any; it no longer counts. Never the last one of a
  /// rank.
  std::optional<Segment> take_surplus();

 private:
  struct Kept {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  struct Log {
    std::deque<Kept> segments;
    std::uint64_t bytes = 0;
  };

  LogLimits limits_;
  std::vector<Log> logs_;
  std::set<std::pair<std::uint64_t, int>> by_size_;  ///< of logs with several segments
  std::uint64_t bytes_ = 0;
};

}  // namespace train
