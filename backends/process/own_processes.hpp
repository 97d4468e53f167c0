// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>

namespace train {

// The children of this agent that belong to itself, such as the subreapers of its attempts. What a
// killed subreaper has left are children of the agent as well, and are all others.

/// Calls `start`, which starts such a process and returns its pid, or -1. Only
/// `collect_own_process` reaps it.
void start_own_process(const std::function<pid_t()>& start);

/// Reaps such a process, which has ended.
void collect_own_process(pid_t process);

/// Those that are not reaped yet: all that were made before this call. From any thread.
std::set<int> own_processes();

}  // namespace train
