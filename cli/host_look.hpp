// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/wire/host_report.hpp"

namespace train {

/// Asks these hosts, all at the same time, what they have and who holds it, as a launch would reach
/// them. In their order; a host that cannot be reached, or does not answer within 15 s, is an error
/// of class `host` or `missing`.
std::vector<Result<HostReport>> look_at_hosts(const std::vector<Host>& hosts);

}  // namespace train
