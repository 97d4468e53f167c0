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
  /// With its help CUDA makes the files under /dev/nvidia* that a host lacks since it was booted.
  std::string nvidia_modprobe = "/usr/bin/nvidia-modprobe";
  std::string wsl_library = "/usr/lib/wsl/lib/libcuda.so.1";
};

/// The identities of GPUs by the numbers of `HostGpus`; empty for those of which the driver shows
/// none.
struct GpuIdentities {
  std::vector<std::string> cuda = {};  ///< "GPU-5a..."
  std::vector<std::string> rocm = {};
  std::vector<std::string> cuda_files = {};  ///< "/dev/nvidia0"; of every one
  /// Ray's constant for NVIDIA's, where all are of one type; else empty.
  std::string cuda_type = {};
};
GpuIdentities gpu_identities(const GpuFiles& files = {});

/// The NUMA node of each GPU by the numbers of `HostGpus`, as the PCI bus has it; -1: none is
/// known.
struct GpuNodes {
  std::vector<int> cuda = {};
  std::vector<int> rocm = {};
};
GpuNodes gpu_nodes(const GpuFiles& files = {});

/// Counts the GPUs that a program of this session may use, from what the kernel shows alone: a
/// static program cannot load a driver's library. `session` is its environment.
///
/// NVIDIA's are in /proc/driver/nvidia/gpus, as many as its driver has; in a container those count
/// whose /dev/nvidiaN can be used. One with instances of MIG is no whole device: CUDA gives a
/// process one of its instances at most. What CUDA_VISIBLE_DEVICES leaves out is left out, by
/// CUDA's own rules (`visible_devices`). AMD's are the nodes of /sys/class/kfd without CPU cores
/// and with 4 GiB of their own memory or more, which no graphics of a processor has; in a container
/// those whose /dev/dri/renderDN can be used; ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and, for
/// HIP, CUDA_VISIBLE_DEVICES leave some out.
HostGpus count_gpus(const std::map<std::string, std::string>& session, const GpuFiles& files = {});

}  // namespace train
