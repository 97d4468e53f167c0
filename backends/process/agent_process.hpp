// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/process/host_directory.hpp"
#include "config_schema/error.hpp"

namespace train {

/// Carries out what `Agent` decides, until it leaves: accepts the launcher's connection on
/// `listening_socket`, runs the ranks, passes on what they print. Returns the exit code of the
/// process. To be called as the `agent_main` of `attach`.
int run_agent_process(int listening_socket, const HostDirectory& directory, const std::string& key);

}  // namespace train
