// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/process/agent_process.hpp"
#include "launcher/wire/host_report.hpp"

namespace train {

/// What this host has and who holds it. Of the means it takes those that count and name GPUs, and
/// the folder of leases. May wait for a disk.
HostReport look_at_this_host(const AgentMeans& means);

}  // namespace train
