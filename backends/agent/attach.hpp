// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "backends/agent/guard.hpp"
#include "backends/process/host_directory.hpp"

namespace train {

/// Connects standard input and output to the agent `key` of this host. An agent that does not run
/// is started, behind a guard (`guard.hpp`): of several attaches at once exactly one starts it.
/// Each attach is one connection to the agent's (non-blocking) socket, from which `agent_main`
/// accepts; the first connection is already waiting when `agent_main` is called. Before the start,
/// the processes that dead agents of this directory have left are ended (`sweep.hpp`). Only the
/// agent's bytes go to standard output. The end of standard input reaches the agent as a half-close
/// (shutdown for writing); the agent ends the connection.
///
/// Returns the exit code (0) once the connection has ended; an error of class `host` when there is
/// neither an agent nor a way to start one. Ignores SIGPIPE, SIGHUP and SIGINT from here on. Call
/// before there are threads or Asio objects. `agent_main` runs in a process of its own, whose exit
/// code is its return value.
///
/// `is_of_step`: this process is that of a scheduler's job step, which ends with it. So it returns
/// only when the guard that it has started is gone, and passes SIGTERM, which only this process may
/// get when the job is to end, on to that guard.
Result<int> attach(const HostDirectory& directory, const std::string& key,
                   const AgentMain& agent_main, bool is_of_step = false);

/// The same for a running agent; never starts one. If there is no agent, ends the processes that a
/// dead one has left, and writes a NoAgent message (`launcher/wire/message.hpp`), or, if some of
/// them could not be ended, a LeftBehind.
Result<int> reattach(const HostDirectory& directory, const std::string& key);

}  // namespace train
