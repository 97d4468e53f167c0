// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// The instant at which all ranks of an agent must be dead, even if the agent is frozen or dead. It
/// is stored in memory that the agent shares with its guard.
class Fence {
 public:
  /// Construct it before the guard forks the agent. If no shared memory can be had, there is never
  /// a fence.
  Fence();

  /// `nullopt`: there is no fence.
  void set(std::optional<Instant> at);
  std::optional<Instant> at() const;

 private:
  std::atomic<std::int64_t>* shared_;  ///< nanoseconds; 0: none
};

}  // namespace train
