// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "launcher/ports/clock.hpp"

namespace train {

/// When each of some hosts is to be checked next, soonest first: an event of one host costs the
/// same however many hosts there are.
class HostChecks {
 public:
  explicit HostChecks(std::size_t hosts) : due_(hosts) {}

  /// Checks this host at `due` or sooner.
  void schedule(int host, Instant due) {
    auto& known = due_[static_cast<std::size_t>(host)];
    if (known && *known <= due) return;
    known = due;
    queue_.emplace(due, host);
  }
  /// The next host that is due; it is not checked again until `schedule`.
  std::optional<int> take_due(Instant now) {
    while (!queue_.empty() && queue_.top().first <= now) {
      const auto [due, host] = queue_.top();
      queue_.pop();
      auto& known = due_[static_cast<std::size_t>(host)];
      if (known != due) continue;  // an earlier check was added since
      known.reset();
      return host;
    }
    return std::nullopt;
  }
  /// When the next host may be due.
  std::optional<Instant> next() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.top().first;
  }

 private:
  std::vector<std::optional<Instant>> due_;
  std::priority_queue<std::pair<Instant, int>, std::vector<std::pair<Instant, int>>, std::greater<>>
      queue_;
};

}  // namespace train
