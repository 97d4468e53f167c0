// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace train {

/// More than a host is asked for: containers may give it hundreds of interfaces.
inline constexpr std::size_t most_network_addresses = 16;

/// One address of a host at which others might reach its ranks.
struct NetworkAddress {
  std::string interface;    ///< "eth0"
  std::string address;      ///< in numbers: "10.0.0.3", "2001:db8::3"
  std::string network;      ///< that it is of: "10.0.0.0/24", "2001:db8::/64"
  int speed = 0;            ///< in Mb/s, as the kernel says; 0: it does not say
  bool is_virtual = false;  ///< neither a device nor on top of one: "docker0", "virbr0"
  bool has_rdma = false;    ///< its device is one of InfiniBand's or RoCE's

  bool operator==(const NetworkAddress&) const = default;
};

/// What a host offers to those that look whether they reach it.
struct HostNetworks {
  std::vector<NetworkAddress> addresses = {};  ///< at most `most_network_addresses`
  int probe_port = 0;                          ///< on which it answers them; 0: on none
  std::string probe_token = {};                ///< that they must know: 32 hexadecimal digits

  bool operator==(const HostNetworks&) const = default;
};

/// A host that another one is to look for.
struct ProbeTarget {
  int host = 0;                        ///< node rank
  std::vector<std::string> addresses;  ///< of `NetworkAddress`, the best first
  int port = 0;
  std::string token;

  bool operator==(const ProbeTarget&) const = default;
};

/// What came of one address.
enum class ProbeAnswer {
  untried,      ///< it was not waited for
  reached,      ///< 16 KiB went there and back
  refused,      ///< nobody listens there, or a firewall says so
  unreachable,  ///< there is no way there
  no_answer,    ///< nothing came back: a firewall, or an address of another network
  stalled,      ///< it answers, and large packets get lost: an MTU that does not fit
  stranger,     ///< somebody else answers
};
inline constexpr ProbeAnswer last_probe_answer = ProbeAnswer::stranger;
/// What a host has found of a target.
struct ProbeResult {
  int host = 0;                        ///< node rank of the target
  std::vector<ProbeAnswer> addresses;  ///< in the target's order

  bool operator==(const ProbeResult&) const = default;
};

}  // namespace train
