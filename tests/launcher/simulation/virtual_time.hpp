// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "launcher/ports/timers.hpp"

namespace train::simulation {

/// Seeded chance; the same numbers on every machine (no std distributions).
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  /// 0 .. below - 1.
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  nanoseconds up_to(nanoseconds most) {
    return nanoseconds(
        static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most.count()) + 1)));
  }

 private:
  std::mt19937_64 engine_;
};

/// The only time there is: it jumps from event to event. Events of one instant happen in the order
/// in which they were asked for.
class VirtualTime {
 public:
  Instant now() const { return now_; }
  void at(Instant when, std::function<void()> what) {
    events_.push({std::max(when, now_), next_++, std::move(what)});
  }
  /// Lets the next event happen; false when there is none.
  bool step() {
    if (events_.empty()) return false;
    const Event event = events_.top();
    events_.pop();
    now_ = event.when;
    event.what();
    return true;
  }

 private:
  struct Event {
    Instant when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  Instant now_{0};
  std::uint64_t next_ = 0;
  std::priority_queue<Event> events_;
};

/// Virtual time as the clock and the timers of a driver.
class FakeTimers final : public Timers {
 public:
  explicit FakeTimers(VirtualTime& time) : time_(time) {}

  Instant now() const override { return time_.now(); }
  void post(std::function<void()> callback) override { time_.at(time_.now(), std::move(callback)); }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    auto timer = std::make_unique<Timer>();
    time_.at(time_.now() + delay,
             [wanted = std::weak_ptr<bool>(timer->wanted), callback = std::move(callback)] {
               if (!wanted.expired()) callback();
             });
    return timer;
  }

 private:
  struct Timer final : Subscription {
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  VirtualTime& time_;
};

}  // namespace train::simulation
