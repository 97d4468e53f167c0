// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/process/agent_record.hpp"
#include "backends/process/host_directory.hpp"
#include "backends/process/process_tree.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What a sweep found of an agent, and ended.
struct Sweep {
  bool is_running = false;    ///< agent or guard hold the lock; nothing was touched
  bool is_foreign = false;    ///< it ran in another process namespace and cannot be seen from here
  bool is_elsewhere = false;  ///< it runs, with a folder that this login does not see
  bool found_state = false;   ///< socket, lock or run directory existed
  int ended = 0;              ///< number of processes that were ended
  std::vector<Survivor> survivors = {};
};

/// Ends the processes that the ranks of an agent have left, after the agent was killed together
/// with its guard: every process that is in their cgroup, has `mark` ("NAME=/path", or a path below
/// that) in its environment, is in the session of a rank, has the pipe of a rank's output open, or
/// descends from any of these. Repeats until two passes in a row find nothing, or `limit` has
/// passed.
///
/// Touches only processes of this user (as root, of all users) that started after the agent, never
/// this process and its ancestors. A pid that was reused by another process does no harm. For a
/// record of an earlier boot or of another process namespace it does nothing.
Sweep end_processes_of(const AgentRecord& record, const std::string& key, const std::string& mark,
                       nanoseconds limit);

/// Ends the processes that the agent `key` left, if it is dead, and removes its state. While only
/// its guard lives, which does the same, waits for up to `patience`.
Result<Sweep> sweep_agent(const HostDirectory& directory, const std::string& key,
                          nanoseconds patience);

/// Called before an agent is started under its `lock`: ends the processes that an earlier agent
/// `key` and all other dead agents of this directory left. Takes some seconds at most, and almost
/// no time when there are none.
void sweep_before_start(const HostDirectory& directory, const std::string& key, int lock);

}  // namespace train
