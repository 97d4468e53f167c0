// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/network/interfaces.hpp"
#include "launcher/fitness/host_fitness.hpp"

namespace train {

/// The RDMA ports of this host, as the kernel shows them (its
/// Documentation/ABI/stable/sysfs-class-infiniband).
std::vector<RdmaPort> rdma_facts(const NetworkFiles& files = {});

}  // namespace train
