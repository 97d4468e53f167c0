// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/accelerator/gpu_count.hpp"
#include "launcher/fitness/device_report.hpp"
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

/// Whether processes may compute that `gpu_users` does not see: the kernel counts how often
/// /dev/nvidia-uvm is open (the references of its module), and this user may not look into all.
/// Whoever may be told of no such count is told that there may be some.
bool may_miss_gpu_users(const GpuFiles& files = {});

/// Adds to the users those processes that the driver names on GPUs of this session and that are not
/// among them, of other users for example. One that cannot be seen here (of another container)
/// counts where nobody else is known to compute on its GPU.
void add_gpu_users(const DeviceReport& devices, std::vector<LeaseHolder>& users,
                   const GpuFiles& files = {});

}  // namespace train
