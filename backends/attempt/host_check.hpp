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

/// The result of the first phase of a start: the event for the agent, the held ports, and the open
/// directory of the cgroup in which ranks start, if there is one.
struct CheckedHost {
  agent_event::HostChecked told;
  std::vector<PortHold> ports;
  Descriptor cgroup;
  std::optional<nanoseconds> newest_checkpoint;  ///< before the ranks start, if it is looked for
  std::shared_ptr<MemoryKills> memory_kills;     ///< the count before ranks start in the cgroup
};

/// Checks whether the ranks can be started here: working directories, programs, interpreters,
/// scripts, the network interface, and room for their processes and descriptors. Counts the GPUs;
/// makes the run directory of `key` with its files; begins the record of the agent if it has not
/// begun; holds the ports. Removes the files of an earlier attempt. Not for a loop: file systems
/// may hang; the call that is under way is noted in `calls`.
CheckedHost check_host(const message::Prepare& prepare, const HostDirectory& directory,
                       const std::string& key, const AgentMeans& means, AgentRecorder& recorder,
                       ReportTools& tools, FileCalls& calls);

/// Checks that this host has a network interface of exactly this name that is up and has an
/// address: the network libraries that ranks use accept no other. Class `host`, with a list of the
/// existing interfaces.
Result<void> check_interface(const std::string& name);

}  // namespace train
