// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/attempt/report_tools.hpp"
#include "backends/observe/memory_kills.hpp"
#include "backends/observe/port_hold.hpp"
#include "backends/process/agent_means.hpp"
#include "backends/process/agent_record.hpp"
#include "backends/process/file_calls.hpp"
#include "backends/process/host_directory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/agent/agent.hpp"

namespace train {

/// What the first phase of a start leaves: what to tell the agent, the ports that are held, and the
/// open directory of the cgroup that ranks start in, if there is one.
struct CheckedHost {
  agent_event::HostChecked told;
  std::vector<PortHold> ports;
  Descriptor cgroup;
  std::shared_ptr<MemoryKills> memory_kills;  ///< which there were before ranks start in it
};

/// Looks whether the ranks can be started here: working directories, programs, interpreters,
/// scripts, the network interface, and room for their processes and descriptors; counts the GPUs;
/// makes the run directory of `key` with its files, begins the record of the agent if it has not
/// begun, and holds the ports. What an attempt before this one was told in files is gone then. File
/// systems may take their time, which is noted in `calls`: not for a loop.
CheckedHost check_host(const message::Prepare& prepare, const HostDirectory& directory,
                       const std::string& key, const AgentMeans& means, AgentRecorder& recorder,
                       ReportTools& tools, FileCalls& calls);

/// Checks that this host has a network interface of exactly this name that is up and has an
/// address: the libraries that ranks use for the network accept no other. Class `host`, with the
/// interfaces that there are.
Result<void> check_interface(const std::string& name);

}  // namespace train
