// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/accelerator/gpu_count.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/lease/lease.hpp"

namespace train {

/// The processes that have NVIDIA GPUs open to compute on them, longest-running first, as far as
/// this user may inspect them (root: all; others: their own). Each has its pid, owner, command
/// line, run time, its GPUs (indices as in `HostGpus::cuda`, and identities), and as `name` the
/// task in its environment. `user`, the name of the owner, is not set.
///
/// CUDA opens /dev/nvidia-uvm besides the files of its GPUs; programs that only monitor GPUs
/// (nvidia-smi, nvidia-persistenced, metrics exporters) or draw on them do not. The MPS server is
/// skipped: it computes for other processes, which are listed themselves.
std::vector<LeaseHolder> gpu_users(const GpuFiles& files = {});

/// Whether there may be computing processes that `gpu_users` does not see, because this user may
/// not inspect all processes: true if the kernel's count of open /dev/nvidia-uvm files (the
/// references of its module) is not 0, or cannot be read.
bool may_miss_gpu_users(const GpuFiles& files = {});

/// Adds to `users` the processes that the driver reports on GPUs of this session and that are
/// missing there, for example those of other users. A process that is not visible here (in another
/// container) is added only if no other process is known to compute on its GPU.
void add_gpu_users(const DeviceReport& devices, std::vector<LeaseHolder>& users,
                   const GpuFiles& files = {});

}  // namespace train
