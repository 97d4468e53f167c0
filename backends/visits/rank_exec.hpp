// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/host_directory.hpp"

namespace train {

/// `agent exec KEY`: runs a command beside a rank of the agent, with the protocol of
/// launcher/talks/exec_talk.hpp on these descriptors, until the command, the rank or the client has
/// ended. The command gets the rank's environment, working directory, limits, CPUs and cgroup. All
/// processes that it has started are killed at the end. Call it in a process of its own, which has
/// one thread.
void exec_beside_rank(const HostDirectory& directory, const std::string& key, int input,
                      int output);

}  // namespace train
