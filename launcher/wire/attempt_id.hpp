// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace train {

/// One attempt to run one trial of a task. Both numbers count from 0, so the number of an attempt
/// is the number of restarts before it.
struct AttemptId {
  int trial = 0;
  int attempt = 0;

  auto operator<=>(const AttemptId&) const = default;
};

}  // namespace train
