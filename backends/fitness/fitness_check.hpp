// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/process/agent_means.hpp"
#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// Looks at this host for a request. Of the means it takes those of a look. May wait for disks and
/// for programs of the host, for each of these some seconds at most.
HostFitness check_fitness(const FitnessRequest& request, const AgentMeans& means);

}  // namespace train
