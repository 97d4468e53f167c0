// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/network_fields.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int highest_probe_port = 65'535;
constexpr int highest_speed = 100'000'000;  // Mb/s
constexpr std::size_t longest_network_text = 64;
constexpr std::size_t most_targets = 8;
// The addresses that a host has reported, and the one by which the launcher reaches it.
constexpr std::size_t most_tried = most_network_addresses + 1;

std::string network_text(const json& value, const char* name) {
  return text_field(value, name, longest_network_text);
}

json json_of(const NetworkAddress& each) {
  return {{"interface", from_bytes(cut_to_json(each.interface, longest_network_text))},
          {"address", from_bytes(each.address)},
          {"network", from_bytes(each.network)},
          {"speed", each.speed},
          {"virtual", each.is_virtual},
          {"rdma", each.has_rdma}};
}

NetworkAddress network_address_of(const json& value) {
  return {network_text(value, "interface"), network_text(value, "address"),
          network_text(value, "network"),   int_field(value, "speed", 0, highest_speed),
          bool_field(value, "virtual"),     bool_field(value, "rdma")};
}

}  // namespace

json json_of(const HostNetworks& networks) {
  json addresses = json::array();
  for (const NetworkAddress& each : networks.addresses)
    if (addresses.size() < most_network_addresses) addresses.push_back(json_of(each));
  return {{"addresses", std::move(addresses)},
          {"port", networks.probe_port},
          {"token", networks.probe_token}};
}

HostNetworks networks_of_json(const json& value) {
  HostNetworks networks;
  for (const json& each : array_field(value, "addresses", most_network_addresses))
    networks.addresses.push_back(network_address_of(each));
  networks.probe_port = int_field(value, "port", 0, highest_probe_port);
  networks.probe_token = network_text(value, "token");
  return networks;
}

json json_of(const std::vector<ProbeTarget>& targets) {
  json list = json::array();
  for (const ProbeTarget& each : targets)
    list.push_back({{"host", each.host},
                    {"addresses", each.addresses},
                    {"port", each.port},
                    {"token", each.token}});
  return list;
}

std::vector<ProbeTarget> probe_targets_of_json(const json& value) {
  std::vector<ProbeTarget> targets;
  for (const json& each : array_field(value, "targets", most_targets)) {
    ProbeTarget target{int_field(each, "host"),
                       {},
                       int_field(each, "port", 0, highest_probe_port),
                       network_text(each, "token")};
    for (const json& address : array_field(each, "addresses", most_tried))
      target.addresses.push_back(to_bytes(address));
    targets.push_back(std::move(target));
  }
  return targets;
}

json json_of(const std::vector<ProbeResult>& results) {
  json list = json::array();
  for (const ProbeResult& each : results) {
    json found = json::array();
    for (const ProbeAnswer reach : each.addresses) found.push_back(static_cast<int>(reach));
    list.push_back({{"host", each.host}, {"addresses", std::move(found)}});
  }
  return list;
}

std::vector<ProbeResult> probe_results_of_json(const json& value) {
  std::vector<ProbeResult> results;
  for (const json& each : array_field(value, "results", most_targets)) {
    ProbeResult result{int_field(each, "host"), {}};
    for (const int reach :
         int_list_field(each, "addresses", 0, static_cast<int>(last_probe_answer), most_tried))
      result.addresses.push_back(static_cast<ProbeAnswer>(reach));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace train
