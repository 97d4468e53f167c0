// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace train {

/// How long files that nobody uses stay in the caches of a host.
struct CacheAges {
  std::chrono::hours incomplete{24};
  std::chrono::hours runs{7 * 24};       ///< from the end of their task
  std::chrono::hours contexts{30 * 24};  ///< from their last use
  std::chrono::hours binaries{30 * 24};
};

/// Removes what is old from these places and from /dev/shm/train-UID: packed contexts, copies of
/// tasks that are over, and binaries of train (`train-ID`, put there by bootstrap_command.hpp).
/// Only what belongs to this user, lies in folders of this user, and has a name and a kind that
/// nothing but train gives; never a copy that an agent has locked, nor the running program. What
/// cannot be removed stays. Looks at 10,000 names per folder at most.
void tidy_caches(const std::vector<std::string>& places, const std::atomic<bool>& cancelled,
                 const CacheAges& ages = CacheAges());

/// Marks the running program as used now, if it is one that `tidy_caches` would look at.
void mark_own_binary_used();

}  // namespace train
