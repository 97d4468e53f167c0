// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cli/request/request.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/allreduce_verdict.hpp"
#include "launcher/fitness/link_verdict.hpp"

namespace train {

// Measurements between the fit hosts. A regular task makes them: it takes leases, can be stopped,
// and ends like any other. Each returns an error if it could not measure.

/// Measures the links, with one rank per host. Nothing if fewer than two hosts are fit.
Result<std::optional<LinkCheck>> check_links(const HostFlags& flags,
                                             const std::vector<CheckedHost>& hosts,
                                             const std::vector<HostFinding>& findings,
                                             std::optional<StopSignals>& signals);

/// Whether slots of the host are NVIDIA GPUs whose driver answers.
bool has_nvidia_slots(const CheckedHost& host);

/// Measures NCCL with these environment variables, with one rank per slot of the hosts that have
/// NVIDIA GPUs. Nothing if no host has any.
Result<std::optional<AllReduceCheck>> check_allreduce(
    const HostFlags& flags, const std::vector<EnvironmentEntry>& environment,
    const std::vector<CheckedHost>& hosts, const std::vector<HostFinding>& findings,
    std::optional<StopSignals>& signals);

}  // namespace train
