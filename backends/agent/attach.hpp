// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "backends/agent/guard.hpp"
#include "backends/process/host_directory.hpp"

namespace train {

/// Connects standard input and output to the agent `key` of this host, which is started, behind a
/// guard (`guard.hpp`), if it does not run: of several attaches at once exactly one starts it. Each
/// attach is one connection to the agent's (non-blocking) socket, which `agent_main` accepts from;
/// when it runs, the first connection waits already. Before it is started, what dead agents of this
/// directory have left is ended (`sweep.hpp`). Nothing but the agent's bytes goes to standard
/// output. The end of standard input reaches the agent as half a close; the agent ends the
/// connection.
///
/// Returns the exit code (0) once the connection has ended; an error of class `host` when there is
/// neither an agent nor a way to start one. Ignores SIGPIPE, SIGHUP and SIGINT from here on. Call
/// before there are threads or Asio objects. `agent_main` runs in a process of its own, which ends
/// with what it returns.
Result<int> attach(const HostDirectory& directory, const std::string& key,
                   const AgentMain& agent_main);

/// The same for an agent that runs; none is started. Where there is none, what a dead one has left
/// is ended, and the stream is a NoAgent (`launcher/wire/message.hpp`), or, where something of it
/// could not be ended, a LeftBehind.
Result<int> reattach(const HostDirectory& directory, const std::string& key);

}  // namespace train
