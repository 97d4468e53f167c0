// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/process/agent_record.hpp"
#include "backends/process/host_directory.hpp"
#include "backends/process/process_tree.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What was found of a dead agent, and ended.
struct Sweep {
  bool is_running = false;    ///< not dead: agent or guard hold the lock, and nothing was touched
  bool is_foreign = false;    ///< it ran in another process namespace: nothing is known of it here
  bool is_elsewhere = false;  ///< it runs, with a folder that this login does not see
  bool found_state = false;   ///< socket, lock or run directory were there
  int ended = 0;              ///< processes that are gone now
  std::vector<Survivor> survivors = {};
};

/// Ends whatever the ranks of an agent have left that was killed together with its guard: every
/// process that is in their cgroup, has `mark` ("NAME=/path", or a path below that) in its
/// environment, is in the session of a rank, has the pipe of a rank's output open, or descends from
/// any of these. Looks again and again until two looks in a row find nothing, or `limit` has
/// passed.
///
/// Touches only processes of this user (as root, of all users) that started after the agent, never
/// this process and its ancestors. A number that has been given to another process since does no
/// harm. A record of an earlier boot, or of another process namespace, names nobody here.
Sweep end_processes_of(const AgentRecord& record, const std::string& key, const std::string& mark,
                       nanoseconds limit);

/// Sweeps what the agent `key` left, if it is dead, and removes its state. Waits for `patience`
/// while only its guard lives, which does the same.
Result<Sweep> sweep_agent(const HostDirectory& directory, const std::string& key,
                          nanoseconds patience);

/// Before an agent is started under `lock`, its own: sweeps what an earlier agent `key` left, and
/// every other dead agent of this directory, some seconds at most. Costs next to nothing when there
/// is none.
void sweep_before_start(const HostDirectory& directory, const std::string& key, int lock);

}  // namespace train
