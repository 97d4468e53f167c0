// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "launcher/ports/clock.hpp"

namespace train {

/// A pending request: destroying it cancels it, and its callback never runs afterwards. A callback
/// may destroy its own subscription.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// The clock and the timers of one thread.
class Timers : public Clock {
 public:
  /// Runs `callback` soon, after the current code.
  virtual void post(std::function<void()> callback) = 0;
  /// Calls back once, after `delay`.
  [[nodiscard]] virtual std::unique_ptr<Subscription> after(nanoseconds delay,
                                                            std::function<void()> callback) = 0;
};

}  // namespace train
