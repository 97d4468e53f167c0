// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/ports/clock.hpp"

namespace train {

/// A cgroup (version 2) of their own for the ranks of an agent, where one may be made: whatever
/// they start stays in it, and goes with it in one blow. The agent and its guard stay where they
/// are.

/// Whether an agent looks for a place for such a cgroup.
enum class RankCgroups { none, where_possible };

/// Where a process stands among the cgroups of its host, as far as it decides where another may be
/// made.
struct CgroupSurroundings {
  std::string own;          ///< of this process, as /proc/self/cgroup says it: "/a/b"
  bool has_systemd = true;  ///< it runs the host, and owns every cgroup that it has not delegated
  unsigned user = 0;
  bool lingers = false;  ///< the user's manager goes on when the last login has ended
  /// Whether systemd has left what is below this cgroup to somebody else.
  std::function<bool(const std::string& path)> is_delegated = {};
};

/// Below which cgroup one for ranks may be made: this process's own where no systemd runs the host
/// or has left it, or one around it, to others; else the one of the user's manager, if that lives
/// as long as the ranks may. Nothing where all belongs to systemd. Whether the kernel allows it is
/// another question.
std::optional<std::string> place_for_cgroup(const CgroupSurroundings& surroundings);

/// "train-<key>-<process id of the agent>"
std::string cgroup_name(const std::string& key, int agent);

/// The path that a cgroup of this name would have; nothing where none can be made or moved to.
std::optional<std::string> path_for_cgroup(const std::string& name);

/// Makes it, and opens it for `ChildSetup::cgroup`; -1 when that fails. What dead agents left empty
/// beside it goes.
int make_cgroup(const std::string& path);

/// That there is a cgroup of this user at `path`, and that it has this name.
bool is_cgroup_of(const std::string& path, const std::string& name);
/// The processes in it and below.
std::vector<int> processes_in_cgroup(const std::string& path);
/// Kills them all, those that are being forked included.
void kill_cgroup(const std::string& path);
/// Removes it with all below, once its processes are gone; false when they are not within `limit`.
bool remove_cgroup(const std::string& path, nanoseconds limit);

}  // namespace train
