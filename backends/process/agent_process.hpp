// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/process/cgroup.hpp"
#include "backends/process/host_directory.hpp"
#include "launcher/ports/context_store.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

/// Makes the store of an agent, which lives as long as its loop.
using MakeContextStore = std::function<std::unique_ptr<ContextStore>(Loop&)>;

/// Counts the GPUs that the ranks of this session may use. Not on a loop.
using CountGpus = std::function<HostGpus()>;

/// Carries out what `Agent` decides, until it leaves: accepts the launcher's connection on
/// `listening_socket`, runs the ranks, passes on what they print. Returns the exit code of the
/// process; nothing is thrown. To be called as the `agent_main` of `attach`, and `directory` must
/// be there until the process ends: calls on dead file systems do not come back before. Without a
/// store, contexts are refused; without a count, there are no GPUs.
int run_agent_process(int listening_socket, const HostDirectory& directory, const std::string& key,
                      const MakeContextStore& make_contexts = {},
                      RankCgroups cgroups = RankCgroups::none, CountGpus count_gpus = {});

}  // namespace train
