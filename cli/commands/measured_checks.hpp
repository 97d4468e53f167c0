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

// What is measured between those hosts that are fit, by a task that takes slots there as any does,
// and is stopped and ended like any. An error: it could not be measured.

/// The links between them, with a rank on each. Nothing where fewer than two are fit.
Result<std::optional<LinkCheck>> check_links(const HostFlags& flags,
                                             const std::vector<CheckedHost>& hosts,
                                             const std::vector<HostFinding>& findings,
                                             std::optional<StopSignals>& signals);

/// Whether slots of the host are GPUs of NVIDIA, whose driver answers.
bool has_nvidia_slots(const CheckedHost& host);

/// NCCL, with a rank for each slot of those that have such; with these variables. Nothing where
/// none has.
Result<std::optional<AllReduceCheck>> check_allreduce(
    const HostFlags& flags, const std::vector<EnvironmentEntry>& environment,
    const std::vector<CheckedHost>& hosts, const std::vector<HostFinding>& findings,
    std::optional<StopSignals>& signals);

}  // namespace train
