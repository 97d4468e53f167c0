// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/process/host_directory.hpp"

namespace train {

/// `agent exec KEY`: runs a command beside a rank of the agent, as launcher/talks/exec_talk.hpp has
/// it, on these descriptors, until the command, the rank or the asker has ended. It gets what the
/// rank has: environment, working directory, limits, CPUs, cgroup. Nothing that it has started is
/// left. To be called in a process of its own, which has one thread.
void exec_beside_rank(const HostDirectory& directory, const std::string& key, int input,
                      int output);

}  // namespace train
