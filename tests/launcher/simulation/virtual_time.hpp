// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <utility>
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

/// A process that can die between any two of its actions, or be frozen and thaw: what happens to it
/// meanwhile, it sees then.
class MortalProcess {
 public:
  /// Something happens to it.
  void run(const std::function<void()>& what) {
    if (is_frozen_) return held_.push_back(what);
    if (!is_dead_) what();
  }
  /// It is about to do something to the world. False: it has died before.
  bool acts() {
    has_acted_after_leaving_ = has_acted_after_leaving_ || (has_left_ && !is_dead_);
    if (!is_dead_ && deaths_action_ > 0 && ++actions_ == deaths_action_) {
      is_dead_ = true;
      on_death_();
    }
    return !is_dead_;
  }
  /// It dies just before this action of it, counted from 1.
  void die_at_action(std::uint64_t number, std::function<void()> on_death) {
    deaths_action_ = number;
    on_death_ = std::move(on_death);
  }
  void die() { is_dead_ = true; }
  /// It knows that the task is another one's: it may do nothing to the world any more.
  void leave() { has_left_ = true; }
  bool has_acted_after_leaving() const { return has_acted_after_leaving_; }
  void freeze() { is_frozen_ = true; }
  void thaw() {
    is_frozen_ = false;
    for (const auto& what : std::exchange(held_, {})) run(what);
  }
  bool is_dead() const { return is_dead_; }
  bool is_frozen() const { return is_frozen_; }

 private:
  bool is_dead_ = false;
  bool is_frozen_ = false;
  bool has_left_ = false;
  bool has_acted_after_leaving_ = false;
  std::uint64_t actions_ = 0;
  std::uint64_t deaths_action_ = 0;  ///< 0: none
  std::function<void()> on_death_;
  std::vector<std::function<void()>> held_;
};

/// Virtual time as the clock and the timers of a process on a machine that was booted then.
class FakeTimers final : public Timers {
 public:
  FakeTimers(VirtualTime& time, MortalProcess& process, Instant booted)
      : time_(time), process_(process), booted_(booted) {}
  /// Of one to which nothing happens.
  explicit FakeTimers(VirtualTime& time) : FakeTimers(time, unharmed_, Instant(0)) {}

  Instant now() const override { return time_.now() - booted_; }
  void post(std::function<void()> callback) override {
    time_.at(time_.now(), [this, callback = std::move(callback)] { process_.run(callback); });
  }
  std::unique_ptr<Subscription> after(nanoseconds delay, std::function<void()> callback) override {
    auto timer = std::make_unique<Timer>();
    time_.at(time_.now() + delay,
             [this, wanted = std::weak_ptr<bool>(timer->wanted), callback = std::move(callback)] {
               if (wanted.expired()) return;
               if (!process_.is_frozen()) {
                 if (!process_.is_dead()) callback();
                 return;
               }
               process_.run([wanted, callback] {
                 if (!wanted.expired()) callback();
               });
             });
    return timer;
  }

 private:
  struct Timer final : Subscription {
    std::shared_ptr<bool> wanted = std::make_shared<bool>(true);
  };
  VirtualTime& time_;
  MortalProcess unharmed_;
  MortalProcess& process_;
  Instant booted_;
};

}  // namespace train::simulation
