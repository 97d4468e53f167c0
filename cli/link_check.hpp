// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "cli/request.hpp"
#include "cli/stop_signals.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/fitness/link_verdict.hpp"

namespace train {

/// Measures the links between those hosts that are fit: launches a task of one rank on each, which
/// takes a slot there as any task does, and is stopped and ended like any. Nothing where fewer than
/// two hosts are fit. An error: they could not be measured.
Result<std::optional<LinkCheck>> check_links(const HostFlags& flags,
                                             const std::vector<CheckedHost>& hosts,
                                             const std::vector<HostFinding>& findings,
                                             std::optional<StopSignals>& signals);

}  // namespace train
