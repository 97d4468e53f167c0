// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

/// Where processes wait for each other, in memory that all of them have mapped; all zeros is a new
/// one.
struct ProcessBarrier {
  std::atomic<unsigned> arrived;
  std::atomic<unsigned> rounds;

  /// Returns when so many have called it, which may be never.
  void meet(int count) {
    const unsigned round = rounds;
    if (++arrived == static_cast<unsigned>(count)) {
      arrived = 0;
      ++rounds;
    }
    while (rounds == round) std::this_thread::yield();
  }
};
static_assert(std::atomic<unsigned>::is_always_lock_free);
