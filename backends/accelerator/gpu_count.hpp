// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

/// Where the kernel shows GPUs; tests point it elsewhere.
struct GpuFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
  /// The program with which CUDA makes missing /dev/nvidia* files after a boot.
  std::string nvidia_modprobe = "/usr/bin/nvidia-modprobe";
  std::string wsl_library = "/usr/lib/wsl/lib/libcuda.so.1";
};

/// The identities of GPUs, indexed as in `HostGpus`; empty for those whose driver shows none.
struct GpuIdentities {
  std::vector<std::string> cuda = {};  ///< "GPU-5a..."
  std::vector<std::string> rocm = {};
  std::vector<std::string> cuda_files = {};  ///< "/dev/nvidia0"; for each GPU in `cuda`
  /// Ray's constant for NVIDIA's GPUs, if all have the same type; else empty.
  std::string cuda_type = {};
};
GpuIdentities gpu_identities(const GpuFiles& files = {});

/// The NUMA node of each GPU, indexed as in `HostGpus`, from the PCI bus; -1: not known.
struct GpuNodes {
  std::vector<int> cuda = {};
  std::vector<int> rocm = {};
};
GpuNodes gpu_nodes(const GpuFiles& files = {});

/// Counts the GPUs that a program of this session may use, from the kernel's files only: a static
/// program cannot load a driver's library. `session` is its environment.
///
/// NVIDIA GPUs are all in /proc/driver/nvidia/gpus; in a container only those count whose
/// /dev/nvidiaN can be used. A GPU with MIG instances does not count as a whole device: CUDA gives
/// a process at most one of its instances. CUDA_VISIBLE_DEVICES is applied by CUDA's own rules
/// (`visible_devices`). AMD GPUs are the nodes of /sys/class/kfd without CPU cores and with at
/// least 4 GiB of their own memory, which integrated graphics do not have; in a container only
/// those count whose /dev/dri/renderDN can be used. ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and,
/// for HIP, CUDA_VISIBLE_DEVICES are applied.
HostGpus count_gpus(const std::map<std::string, std::string>& session, const GpuFiles& files = {});

}  // namespace train
