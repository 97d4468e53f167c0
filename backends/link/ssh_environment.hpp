// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// Of the variables of this process ("NAME=value") those that ssh may see: what it, its agents and
/// its askpass programs use, and nothing that a user keeps for other programs.
std::vector<std::string> ssh_environment(const std::vector<std::string>& environment);

}  // namespace train
