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

/// A cgroup (version 2) for the ranks of an agent, made where the host allows it: everything that
/// the ranks start stays in it and can be killed at once. The agent and its guard stay in the
/// cgroup they were started in.

/// Whether an agent tries to make such a cgroup.
enum class RankCgroups { none, where_possible };

/// What decides where on its host a process may make a cgroup.
struct CgroupSurroundings {
  std::string own;          ///< of this process, as in /proc/self/cgroup: "/a/b"
  bool has_systemd = true;  ///< systemd runs the host, and owns all cgroups it has not delegated
  unsigned user = 0;
  bool lingers = false;  ///< the user's manager goes on when the last login has ended
  /// Whether systemd has delegated the cgroups below this one (`Delegate=`).
  std::function<bool(const std::string& path)> is_delegated = {};
};

/// The cgroup below which one for ranks may be made: that of the user's manager if this process is
/// in it; this process's own if systemd does not run the host, or has delegated it or a cgroup
/// around it; else that of the manager, if it lingers after the last logout. `nullopt` if systemd
/// manages all of them. Does not check whether the kernel allows it.
std::optional<std::string> place_for_cgroup(const CgroupSurroundings& surroundings);

/// "train-<key>-<process id of the agent>"
std::string cgroup_name(const std::string& key, int agent);

/// The path that a cgroup of this name would have; `nullopt` if no cgroup can be made, or processes
/// cannot be moved there.
std::optional<std::string> path_for_cgroup(const std::string& name);

/// Makes the cgroup and opens it for `ChildSetup::cgroup`; -1 when that fails. Also removes empty
/// cgroups beside it that dead agents have left.
int make_cgroup(const std::string& path);

/// The path of an open cgroup; empty if `directory` is empty.
std::string path_of_cgroup(const Descriptor& directory);

/// Removes the empty cgroups directly below `path` whose names are not in `but`.
void remove_cgroups_below(const std::string& path, const std::set<std::string>& but);

/// Whether a cgroup that belongs to this user exists at `path` and has this name.
bool is_cgroup_of(const std::string& path, const std::string& name);
/// The processes in it and below.
std::vector<int> processes_in_cgroup(const std::string& path);
/// Kills all processes in it, also those that are just being forked.
void kill_cgroup(const std::string& path);
/// Removes it and all below it once their processes are gone; false when they are not within
/// `limit`.
bool remove_cgroup(const std::string& path, nanoseconds limit);

}  // namespace train
