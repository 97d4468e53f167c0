// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/lease/kept_descriptors.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/process/cgroup.hpp"
#include "launcher/agent/cpu_binding.hpp"
#include "launcher/fitness/device_report.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/ports/context_store.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

class Fence;

/// Makes the store of an agent, which lives as long as its loop.
using MakeContextStore = std::function<std::unique_ptr<ContextStore>(Loop&)>;

/// Counts the GPUs that the ranks of this session may use.
using CountGpus = std::function<HostGpus()>;

/// The identities of this host's GPUs, indexed as in `HostGpus`; empty if they are not known.
struct GpuNames {
  std::vector<std::string> cuda = {};
  std::vector<std::string> rocm = {};
  std::string type = {};  ///< of NVIDIA's GPUs, if all have the same
};
using NameGpus = std::function<GpuNames()>;

/// What NVIDIA's driver says of the GPUs of this session.
using AskDevices = std::function<Result<DeviceReport>()>;

/// Starts the process that writes, for `decode_gpu_uses`, what the NVIDIA GPUs do, again after each
/// pause: nothing if there are none. It dies with the thread that calls this.
using StartGpuWatch =
    std::function<Result<std::optional<ConnectedProcess>>(std::chrono::seconds pause)>;

/// Functions that an agent gets from outside, because the rooms of the agent know only processes.
struct AgentMeans {
  MakeContextStore make_contexts = {};  ///< without it, contexts are refused
  RankCgroups cgroups = RankCgroups::none;
  Fence* fence = nullptr;     ///< watched by the guard, if there is one
  CountGpus count_gpus = {};  ///< without it, there are no GPUs; any thread may call it
  NameGpus name_gpus = {};    ///< without it, GPUs have no identities; any thread may call it
  /// The CPUs of this session. Without it no rank is bound. Any thread may call it.
  std::function<CpuTopology()> look_at_cpus = {};
  /// The processes that compute on GPUs, including those of tasks (`LeaseHolder::pid`). Any thread
  /// may call it.
  std::function<std::vector<LeaseHolder>()> gpu_users = {};
  AskDevices ask_devices = {};         ///< likewise; without it, memory of GPUs is not waited for
  StartGpuWatch start_gpu_watch = {};  ///< without it, the use of GPUs is not known
  /// The socket to the guard, if there is one: descriptors sent there stay open while it lives.
  KeepingSocket guard = {};
  std::string lease_folder = {};  ///< empty: the default
  /// How long after a signal to end its launcher, which may have got the same one, has for stopping
  /// the ranks; then the agent stops them itself.
  nanoseconds signal_patience{0};
};

}  // namespace train
