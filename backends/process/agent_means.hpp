// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/lease/kept_descriptors.hpp"
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

/// The identities of this host's GPUs, by the numbers of `HostGpus`; empty where they are not
/// known.
struct GpuNames {
  std::vector<std::string> cuda = {};
  std::vector<std::string> rocm = {};
  std::string type = {};  ///< of NVIDIA's, where all are of one
};
using NameGpus = std::function<GpuNames()>;

/// What NVIDIA's driver says of the GPUs of this session.
using AskDevices = std::function<Result<DeviceReport>()>;

/// What an agent cannot do by itself, since these rooms know of processes only.
struct AgentMeans {
  MakeContextStore make_contexts = {};  ///< without it, contexts are refused
  RankCgroups cgroups = RankCgroups::none;
  Fence* fence = nullptr;     ///< that its guard watches, if there is one
  CountGpus count_gpus = {};  ///< without it, there are no GPUs; any thread may call it
  NameGpus name_gpus = {};    ///< likewise; without it, they have no identities
  /// The CPUs of this session; likewise. Without it no rank is bound.
  std::function<CpuTopology()> look_at_cpus = {};
  /// Likewise: the processes that compute on GPUs, those of tasks too (`LeaseHolder::pid`).
  std::function<std::vector<LeaseHolder>()> gpu_users = {};
  AskDevices ask_devices = {};  ///< likewise; without it, memory of GPUs is not waited for
  /// To its guard, if there is one: what is sent there is held as long as that lives.
  KeepingSocket guard = {};
  std::string lease_folder = {};  ///< empty: the usual one
};

}  // namespace train
