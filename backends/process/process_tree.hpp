// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A process that could not be killed, to be reported to the user.
struct Survivor {
  int pid = 0;
  unsigned uid = 0;
  std::string command;  ///< at most 200 bytes

  bool operator==(const Survivor&) const = default;
};

/// The process as it is reported to the user.
Survivor describe(int pid);

/// Makes orphans among this process's descendants its children, instead of init's, so that none can
/// escape by forking twice. A subreaper must reap them: `reap_orphan`, `kill_all_descendants`.
Result<void> become_subreaper();

/// Signals every process of the group that `leader` leads (workers lead one each). Does nothing
/// when the group is gone. False when the group exists but may not be signalled. The leader must
/// not have been reaped yet, or its number may belong to another process.
bool signal_group(int leader, int signal);

/// Signals every descendant of this process except the children in `keep` and their descendants.
/// `keep` is called once the children are listed, so that it includes those that were just made.
/// This is one pass: processes forked meanwhile may be missed. Returns the processes that may not
/// be signalled.
std::vector<Survivor> kill_descendants(const std::function<std::set<int>()>& keep, int signal);

/// Kills and reaps all descendants of this process, which must be a subreaper, again and again
/// until no child is left, new ones included: afterwards no process of the tree exists. The
/// statuses of all children are lost. Gives up after `limit` and returns the processes that are
/// left: those of other users, or stuck in the kernel.
std::vector<Survivor> kill_all_descendants(nanoseconds limit);

}  // namespace train
