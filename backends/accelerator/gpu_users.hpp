// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/accelerator/gpu_count.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// The processes that have NVIDIA GPUs open to compute on them, longest first, as far as this user
/// may look into them (root: all; others: their own). Of each: its number, owner, command line, for
/// how long it has run, the GPUs by the numbers of `HostGpus::cuda` and their identities, and as
/// `name` the task in its environment. Their users have no names yet.
///
/// CUDA opens /dev/nvidia-uvm beside the files of its GPUs; what only watches them (nvidia-smi,
/// nvidia-persistenced, exporters of metrics) or draws on them does not. The server of MPS computes
/// for others, which are told themselves.
std::vector<LeaseHolder> gpu_users(const GpuFiles& files = {});

}  // namespace train
