// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/process/file_calls.hpp"
#include "backends/process/host_directory.hpp"
#include "backends/process/port_hold.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

/// What the first phase of a start leaves: what to tell the agent, and the ports that are held.
struct CheckedHost {
  agent_event::HostChecked told;
  std::vector<PortHold> ports;
};

/// Looks whether the ranks can be started here: working directories, programs, interpreters, and
/// room for their processes and descriptors; makes the run directory of `key` with its files, and
/// holds the ports. File systems may take their time, which is noted in `calls`: not for a loop.
CheckedHost check_host(const message::Prepare& prepare, const HostDirectory& directory,
                       const std::string& key, FileCalls& calls);

}  // namespace train
