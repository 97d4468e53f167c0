// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/process/agent_means.hpp"
#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// Checks this host for a request. Of `means` it uses those of `inspect_host`. May wait for
/// disks, and some seconds at most for each program of the host that it runs.
HostFitness check_fitness(const FitnessRequest& request, const AgentMeans& means);

}  // namespace train
