// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "backends/agent/fence.hpp"
#include "backends/lease/kept_descriptors.hpp"
#include "backends/process/host_directory.hpp"

namespace train {

/// What an agent receives from its guard.
struct GuardedBy {
  Fence& fence;  ///< watched by the guard
  /// The locks of descriptors that are sent over it (SCM_RIGHTS) outlive the agent. The guard does
  /// not read it.
  KeepingSocket keep = {};
};

/// The main function of an agent process, given the socket to accept from. Returns the exit code of
/// the process.
using AgentMain = std::function<int(int listening_socket, const GuardedBy& guard)>;

/// The arguments of `start_guard`.
struct GuardSetup {
  const HostDirectory& directory;
  const std::string& key;
  int listening_socket;  ///< for the agent; the guard does not keep it
  int lock;              ///< held by guard and agent until both are gone
  const AgentMain& agent_main;
};

/// Forks the guard, which forks the agent. The guard is a subreaper in a session of its own; it
/// reaps orphans, passes SIGTERM, SIGINT and SIGHUP on to the agent as SIGTERM, and once the agent
/// has ended for any reason it kills all processes that are left of the tree and of the ranks'
/// cgroup and removes the agent's files. An agent that lets its fence pass (it is frozen, or hangs)
/// is killed with its tree one second later. If the guard is killed, the agent receives SIGTERM and
/// does the same when `agent_main` returns. In the agent, signals have their defaults except
/// SIGPIPE, which is ignored; orphans among the workers' descendants become the agent's children
/// first. Both have 0 to 2 on /dev/null, `/` as working directory, and no other descriptors than
/// those given and the host directory. Call before there are threads or Asio objects. Returns in
/// the caller only, with the guard's pid; errors of the guard's own start are written to standard
/// error.
Result<pid_t> start_guard(const GuardSetup& setup);

}  // namespace train
