// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/agent_means.hpp"
#include "backends/process/host_directory.hpp"

namespace train {

/// Carries out what `Agent` decides until it leaves: accepts the supervisor's connection on
/// `listening_socket`, runs the ranks, passes on their output. Returns the exit code of the process
/// and throws nothing. Call it as the `agent_main` of `attach`. `directory` must exist until the
/// process ends, because a thread that hangs on a dead file system may still use it.
int run_agent_process(int listening_socket, const HostDirectory& directory, const std::string& key,
                      const AgentMeans& means = {});

}  // namespace train
