// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace train {

/// A point in time of one machine: nanoseconds of CLOCK_BOOTTIME, which goes on during suspend.
using Instant = std::chrono::nanoseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Where time comes from; frozen by the driver for the length of one wake-up.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};

}  // namespace train
