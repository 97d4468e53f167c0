// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/live/live_hosts.hpp"

namespace train {

/// A hosts file in YAML of what hosts say that they have, which `parse_hosts` reads without a
/// warning: with GPUs, slots are these, else CPUs. Neighbours that are alike are one entry. A host
/// that does not answer is a comment.
std::string probed_hosts_file(const std::vector<LiveHost>& hosts);

}  // namespace train
