// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// How the hosts of a task are reached, in its order, as a hosts file that `parse_hosts` reads: for
/// processes that must reach them after the launcher is gone. Relative key paths are made absolute
/// below `directory`, the launcher's.
std::string task_hosts_file(const std::vector<Host>& hosts, const std::string& directory);

}  // namespace train
