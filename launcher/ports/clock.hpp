// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace train {

/// A point in time on one machine: nanoseconds of CLOCK_BOOTTIME, which continues during suspend.
using Instant = std::chrono::nanoseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// The source of time; the driver freezes it for the duration of one wake-up.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

}  // namespace train
