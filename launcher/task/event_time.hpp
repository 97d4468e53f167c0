// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "launcher/ports/clock.hpp"

namespace train {

/// Wall-clock times of events. All events at one instant of `clock` have the same time, from one
/// reading. Times of later events are not earlier, unless the wall clock is set back.
class EventTime {
 public:
  /// Reads the wall clock: the time since the Unix epoch.
  using Read = std::function<nanoseconds()>;

  /// `clock` must outlive this.
  EventTime(const Clock& clock, Read read) : clock_(clock), read_(std::move(read)) {}

  /// The time of what happens now.
  nanoseconds now() {
    if (instant_ != clock_.now()) {
      instant_ = clock_.now();
      time_ = read_();
    }
    return time_;
  }
  milliseconds now_ms() { return std::chrono::floor<milliseconds>(now()); }

 private:
  const Clock& clock_;
  const Read read_;
  std::optional<Instant> instant_;
  nanoseconds time_{0};
};

}  // namespace train
