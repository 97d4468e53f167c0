// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Here, a cgroup (version 2) for the ranks of an agent is made where that is allowed: whatever the
/// ranks start stays in it, and can be killed all at once. The agent and its guard stay in theirs.

/// Whether an agent looks for a place for such a cgroup.
enum class RankCgroups { none, where_possible };

/// What decides where on its host a process may make a cgroup.
struct CgroupSurroundings {
  std::string own;          ///< of this process, as /proc/self/cgroup says it: "/a/b"
  bool has_systemd = true;  ///< it runs the host, and owns every cgroup that it has not delegated
  unsigned user = 0;
  bool lingers = false;  ///< the user's manager goes on when the last login has ended
  /// Whether systemd leaves what is below this cgroup to somebody else (`Delegate=`).
  std::function<bool(const std::string& path)> is_delegated = {};
};

/// The cgroup below which one for ranks may be made: that of the user's manager if this process is
/// in it; this process's own where no systemd runs the host, or where systemd has delegated it or
/// one around it; else that of the manager, if it goes on after the last logout. Nothing where
/// systemd manages all of them. Whether the kernel then allows it is another question.
std::optional<std::string> place_for_cgroup(const CgroupSurroundings& surroundings);

/// "train-<key>-<process id of the agent>"
std::string cgroup_name(const std::string& key, int agent);

/// The path that a cgroup of this name would have; nothing where none can be made or moved to.
std::optional<std::string> path_for_cgroup(const std::string& name);

/// Makes the cgroup and opens it for `ChildSetup::cgroup`; -1 when that fails. Also removes empty
/// ones beside it that dead agents have left.
int make_cgroup(const std::string& path);

/// The path of an open one; empty where there is none.
std::string path_of_cgroup(const Descriptor& directory);

/// Removes the empty cgroups in that of this agent whose names are not among those.
void remove_cgroups_below(const std::string& path, const std::set<std::string>& but);

/// Whether there is a cgroup of this user at `path`, and it has this name.
bool is_cgroup_of(const std::string& path, const std::string& name);
/// The processes in it and below.
std::vector<int> processes_in_cgroup(const std::string& path);
/// Kills all processes in it, also those that are just being forked.
void kill_cgroup(const std::string& path);
/// Removes it and all below it once their processes are gone; false when they are not within
/// `limit`.
bool remove_cgroup(const std::string& path, nanoseconds limit);

}  // namespace train
