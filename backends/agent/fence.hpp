// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// The instant at which all ranks of an agent must be dead, whatever becomes of the agent: memory
/// that it shares with its guard.
class Fence {
 public:
  /// To be made before the two part. Where there is no memory for it, nothing is guarded.
  Fence();

  /// Nothing: there is nothing to guard.
  void set(std::optional<Instant> at);
  std::optional<Instant> at() const;

 private:
  std::atomic<std::int64_t>* shared_;  ///< nanoseconds; 0: none
};

}  // namespace train
