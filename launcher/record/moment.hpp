// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "launcher/record/task_record.hpp"

namespace train {

/// A moment by the clocks of the machine that it was read on.
struct Moment {
  std::string boot_id = {};                 ///< which start of the machine; empty: not known
  std::chrono::milliseconds since_boot{0};  ///< CLOCK_BOOTTIME, which nobody can set
  UnixMillis wall = 0;                      ///< the time of day, which may be set at any time
};

/// How much of `span`, which began at `since`, is left at most; negative once it has surely passed.
/// Within one start of a machine the time of day is not asked. After another
/// start, this one must have lasted as long, which is proof on the same machine, and the time of
/// day must say so too, since that may have been another one (homes on a network).
std::chrono::milliseconds left_of(std::chrono::milliseconds span, const Moment& since,
                                  const Moment& now);

}  // namespace train
