// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/accelerator/gpu_count.hpp"
#include "launcher/agent/cpu_binding.hpp"

namespace train {

/// The CPUs that this thread may run on, ascending, without offline ones.
std::vector<int> allowed_cpus();

/// The numbers in a list of the kernel, "0-3,8", ascending, each once. Skips numbers from
/// `most_cpus` on, and parts that are neither a number nor a range.
std::vector<int> cpus_in(std::string_view list);

/// The cores, sockets and NUMA nodes of these CPUs, and the nodes of the GPUs, from the kernel's
/// files. Implausible values are ignored: a CPU without information is a core of its own, on socket
/// 0 and node 0; a machine that shows no nodes has only node 0.
CpuTopology look_at_cpus(const std::vector<int>& allowed, const GpuFiles& files = {});

}  // namespace train
