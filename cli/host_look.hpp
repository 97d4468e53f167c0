// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/stop_signals.hpp"
#include "cli/transports.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/wire/host_report.hpp"

namespace train {

/// Asks these hosts, all at the same time, what they have and who holds it, as a launch would reach
/// them. In their order; a host that cannot be reached, or does not answer within 15 s, is an error
/// of class `host` or `missing`.
std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts);

/// The same for a launch, unless a signal comes before: its number then, and signals are held back
/// again.
struct LookedAt {
  std::vector<Result<HostReport>> reports;
  std::optional<int> stop_signal = {};
};
LookedAt look_at_hosts(const std::vector<Host>& hosts, Reach& reach, StopSignals& signals);

/// The reports of those that have answered, without what this task holds itself.
std::vector<std::optional<HostReport>> answered(const std::vector<Result<HostReport>>& reports,
                                                const std::string& own_task = {});

}  // namespace train
