// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_budget.hpp"

#include <algorithm>

namespace train {

namespace {

constexpr std::uint64_t most_of_task = std::uint64_t{10} << 30;
constexpr std::uint64_t segments_of_limit = 4;
constexpr std::uint64_t least_segment = least_log_limit / segments_of_limit;
constexpr std::uint64_t most_segment = 64u << 20;

}  // namespace

LogLimits log_limits(std::optional<std::uint64_t> log_limit, std::uint64_t free_bytes,
                     std::size_t ranks) {
  LogLimits limits;
  std::uint64_t share = 0;
  if (log_limit) {
    share = limits.of_rank = std::max(*log_limit, least_log_limit);
  } else {
    limits.of_task = std::min(most_of_task, free_bytes / 10);
    share = limits.of_task / std::max<std::size_t>(ranks, 1);
  }
  limits.segment = std::clamp(share / segments_of_limit, least_segment, most_segment);
  return limits;
}

void LogBudget::add(Segment segment, std::uint64_t bytes) {
  Log& log = logs_[static_cast<std::size_t>(segment.rank)];
  by_size_.erase({log.bytes, segment.rank});
  if (log.segments.empty() || log.segments.back().begin != segment.begin)
    log.segments.push_back({segment.begin, 0});
  log.segments.back().bytes += bytes;
  log.bytes += bytes;
  bytes_ += bytes;
  if (log.segments.size() > 1) by_size_.insert({log.bytes, segment.rank});
}

std::optional<LogBudget::Segment> LogBudget::take_surplus() {
  // The longest log is the first to exceed the limit per rank, and the one that yields to the
  // others.
  if (by_size_.empty()) return std::nullopt;
  const auto longest = std::prev(by_size_.end());
  if (longest->first <= limits_.of_rank && bytes_ <= limits_.of_task) return std::nullopt;
  const int rank = longest->second;
  Log& log = logs_[static_cast<std::size_t>(rank)];
  by_size_.erase(longest);
  const Kept oldest = log.segments.front();
  log.segments.pop_front();
  log.bytes -= oldest.bytes;
  bytes_ -= oldest.bytes;
  if (log.segments.size() > 1) by_size_.insert({log.bytes, rank});
  return Segment{rank, oldest.begin};
}

}  // namespace train
