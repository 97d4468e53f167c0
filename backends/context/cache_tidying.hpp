// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace train {

/// How long unused files stay in the caches of a host.
struct CacheAges {
  std::chrono::hours incomplete{24};
  std::chrono::hours runs{7 * 24};       ///< from the end of their task
  std::chrono::hours contexts{30 * 24};  ///< from their last use
  std::chrono::hours binaries{30 * 24};
};

/// Removes old files from these places and from /dev/shm/train-UID: packed contexts, copies of
/// tasks that have ended, and binaries of train (`train-ID`, installed by bootstrap_command.hpp).
/// Only files of this user, in folders of this user, with names and types that only train gives;
/// never a copy that an agent has locked, nor the running program. What cannot be removed stays.
/// Reads at most 10,000 names per folder.
void tidy_caches(const std::vector<std::string>& places, const std::atomic<bool>& cancelled,
                 const CacheAges& ages = CacheAges());

/// Marks the running program as used now, if its name is one that `tidy_caches` may remove.
void mark_own_binary_used();

}  // namespace train
