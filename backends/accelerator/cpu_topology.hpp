// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/accelerator/gpu_count.hpp"
#include "launcher/agent/cpu_binding.hpp"

namespace train {

/// The CPUs that this thread may run on, ascending; those that are offline are not among them.
std::vector<int> allowed_cpus();

/// The numbers of a list of the kernel, "0-3,8", ascending, each once. Numbers from `most_cpus` on
/// are left out, as is what is no number and no range.
std::vector<int> cpus_in(std::string_view list);

/// How these CPUs lie on this machine, and its GPUs beside them, from what the kernel shows.
/// Nothing of that is believed where it cannot be: a CPU of which there is no word is a core by
/// itself, of socket 0 and node 0; a machine that shows no nodes has that one.
CpuTopology look_at_cpus(const std::vector<int>& allowed, const GpuFiles& files = {});

}  // namespace train
