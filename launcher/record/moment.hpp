// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "launcher/record/task_record.hpp"

namespace train {

/// A moment on the clocks of the machine that read it.
struct Moment {
  std::string boot_id = {};                 ///< identifies the boot of the machine; empty: unknown
  std::chrono::milliseconds since_boot{0};  ///< CLOCK_BOOTTIME, which cannot be set
  UnixMillis wall = 0;                      ///< the wall clock, which may be set at any time
};

/// The maximum remaining part of `span`, which began at `since`; negative once it has certainly
/// passed. Within one boot of a machine the wall clock is not used. After a different boot, that
/// boot must have lasted as long as the span, which is proof on the same machine, and the wall
/// clock must agree, because `since` may come from another machine (home directories on a network).
std::chrono::milliseconds left_of(std::chrono::milliseconds span, const Moment& since,
                                  const Moment& now);

}  // namespace train
