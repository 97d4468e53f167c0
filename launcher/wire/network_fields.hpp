// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// JSON of a host's networks, and of probe requests and results. The readers throw `Malformed` for
/// values that no host can have.
nlohmann::json json_of(const HostNetworks& networks);
HostNetworks networks_of_json(const nlohmann::json& value);
nlohmann::json json_of(const std::vector<ProbeTarget>& targets);
std::vector<ProbeTarget> probe_targets_of_json(const nlohmann::json& value);
nlohmann::json json_of(const std::vector<ProbeResult>& results);
std::vector<ProbeResult> probe_results_of_json(const nlohmann::json& value);

}  // namespace train
