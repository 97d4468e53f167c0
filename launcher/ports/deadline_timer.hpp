// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "launcher/ports/timers.hpp"

namespace train {

/// A timer for an object whose deadline moves with every event: calls back at the deadline at the
/// latest, and maybe earlier. A timer that would fire too early is kept, since a new timer for
/// every event would cost more than the events.
class DeadlineTimer {
 public:
  /// `timers` must outlive this. The callback may set the next deadline, and may destroy this.
  DeadlineTimer(Timers& timers, std::function<void()> on_due)
      : timers_(timers), on_due_(std::move(on_due)) {}

  /// To be called again after every callback. Nothing: there is no deadline.
  void set(std::optional<Instant> deadline) {
    if (!deadline) return timer_.reset();
    if (timer_ && due_at_ <= *deadline) return;
    due_at_ = *deadline;
    timer_ = timers_.after(std::max(*deadline - timers_.now(), nanoseconds(0)), [this] {
      timer_.reset();
      const auto on_due = on_due_;
      on_due();
    });
  }

 private:
  Timers& timers_;
  std::function<void()> on_due_;
  std::unique_ptr<Subscription> timer_;
  Instant due_at_{0};
};

}  // namespace train
