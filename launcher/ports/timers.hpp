// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "launcher/ports/clock.hpp"

namespace train {

/// Something that was asked for and may still come: destroying it ends it, and its callback never
/// runs afterwards. A callback may destroy its own subscription.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// The clock of one thread, and what is to happen later on it.
class Timers : public Clock {
 public:
  /// Runs `callback` soon, after what runs now.
  virtual void post(std::function<void()> callback) = 0;
  /// Calls back once, after `delay`.
  [[nodiscard]] virtual std::unique_ptr<Subscription> after(nanoseconds delay,
                                                            std::function<void()> callback) = 0;
};

}  // namespace train
