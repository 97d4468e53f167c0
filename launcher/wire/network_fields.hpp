// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/frames/fields.hpp"
#include "launcher/rendezvous/host_networks.hpp"

namespace train {

inline constexpr int highest_port = 65'535;
inline constexpr std::size_t most_probed_hosts = 8;
inline constexpr std::size_t longest_network_text = 64;
/// The addresses that a host has reported, and the one by which the launcher reaches it.
inline constexpr std::size_t most_tried_addresses = most_network_addresses + 1;

void fields(auto& f, Described<NetworkAddress> auto& each) {
  constexpr int highest_speed = 100'000'000;  // Mb/s
  f.words("interface", each.interface, longest_network_text);
  f.text("address", each.address, longest_network_text);
  f.text("network", each.network, longest_network_text);
  f.number("speed", each.speed, 0, highest_speed);
  f.flag("virtual", each.is_virtual);
  f.flag("rdma", each.has_rdma);
}

void fields(auto& f, Described<HostNetworks> auto& networks) {
  f.cut_list("addresses", networks.addresses, most_network_addresses);
  f.number("port", networks.probe_port, 0, highest_port);
  f.text("token", networks.probe_token, longest_network_text);
}

void fields(auto& f, Described<ProbeTarget> auto& target) {
  f.number("host", target.host);
  f.texts("addresses", target.addresses, most_tried_addresses);
  f.number("port", target.port, 0, highest_port);
  f.text("token", target.token, longest_network_text);
}

void fields(auto& f, Described<ProbeResult> auto& result) {
  f.number("host", result.host);
  f.numbers_of("addresses", result.addresses, last_probe_answer, most_tried_addresses);
}

}  // namespace train
