// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A process that could not be killed, for naming it to the user.
struct Survivor {
  int pid = 0;
  unsigned uid = 0;
  std::string command;  ///< at most 200 bytes

  bool operator==(const Survivor&) const = default;
};

/// The process as it is named to the user.
Survivor describe(int pid);

/// Makes orphans among this process's descendants its children, instead of init's, so that none can
/// leave by forking twice. A subreaper must collect them: `reap_orphan`, `kill_all_descendants`.
Result<void> become_subreaper();

/// Signals every process of the group that `leader` leads (workers lead one each). Nothing happens
/// when the group is gone. False when some group is there but may not be signalled. The leader must
/// not have been collected yet, or its number may mean another process.
bool signal_group(int leader, int signal);

/// Signals every descendant of this process but the children in `keep` and what descends from them.
/// That is asked for once the children are known, so that it has those that were just made. One
/// pass: what is forked meanwhile may be missed. Names those that may not be signalled.
std::vector<Survivor> kill_descendants(const std::function<std::set<int>()>& keep, int signal);

/// Kills and collects all descendants of this process, which is a subreaper, again and again until
/// no child is left, new ones included: afterwards nothing of the tree exists. The statuses of all
/// children are lost. Gives up after `limit` and names what is left: processes of other users, or
/// stuck in the kernel.
std::vector<Survivor> kill_all_descendants(nanoseconds limit);

}  // namespace train
