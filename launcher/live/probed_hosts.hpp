// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/live/live_hosts.hpp"

namespace train {

/// A hosts file in YAML from the reports of hosts, which `parse_hosts` reads without a warning.
/// Slots are the GPUs, or the CPUs of a host without GPUs. Adjacent hosts with the same keys are
/// one entry. A host that does not answer is a comment.
std::string probed_hosts_file(const std::vector<LiveHost>& hosts);

}  // namespace train
