// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// What a host offers, and what hosts are asked and have found about each other; what is read
/// throws `Malformed` where a host cannot have it.
nlohmann::json json_of(const HostNetworks& networks);
HostNetworks networks_of_json(const nlohmann::json& value);
nlohmann::json json_of(const std::vector<ProbeTarget>& targets);
std::vector<ProbeTarget> probe_targets_of_json(const nlohmann::json& value);
nlohmann::json json_of(const std::vector<ProbeResult>& results);
std::vector<ProbeResult> probe_results_of_json(const nlohmann::json& value);

}  // namespace train
