// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace train {

/// Limits the addresses of a host: containers may give it hundreds of interfaces.
inline constexpr std::size_t most_network_addresses = 16;

/// One address of a host at which other hosts might reach its ranks.
struct NetworkAddress {
  std::string interface;    ///< "eth0"
  std::string address;      ///< numeric: "10.0.0.3", "2001:db8::3"
  std::string network;      ///< the address's network: "10.0.0.0/24", "2001:db8::/64"
  int speed = 0;            ///< in Mb/s, from the kernel; 0: unknown
  bool is_virtual = false;  ///< neither a device nor on top of one: "docker0", "virbr0"
  bool has_rdma = false;    ///< its device has InfiniBand or RoCE

  bool operator==(const NetworkAddress&) const = default;
};

/// What a host offers to the hosts that probe it.
struct HostNetworks {
  std::vector<NetworkAddress> addresses = {};  ///< at most `most_network_addresses`
  int probe_port = 0;                          ///< port on which it answers probes; 0: none
  std::string probe_token = {};  ///< token that probes must contain: 32 hexadecimal digits

  bool operator==(const HostNetworks&) const = default;
};

/// A host that another one probes.
struct ProbeTarget {
  int host = 0;                        ///< node rank
  std::vector<std::string> addresses;  ///< of `NetworkAddress`, the best first
  int port = 0;
  std::string token;

  bool operator==(const ProbeTarget&) const = default;
};

/// The result for one address.
enum class ProbeAnswer {
  untried,      ///< not awaited
  reached,      ///< 16 KiB were sent there and back
  refused,      ///< no process listens there, or a firewall refuses
  unreachable,  ///< there is no route
  no_answer,    ///< no reply: a firewall, or an address of another network
  stalled,      ///< it replies, but large packets get lost: a wrong MTU
  stranger,     ///< another program replies
};
inline constexpr ProbeAnswer last_probe_answer = ProbeAnswer::stranger;
/// The results of a host for one target.
struct ProbeResult {
  int host = 0;                        ///< node rank of the target
  std::vector<ProbeAnswer> addresses;  ///< in the target's order

  bool operator==(const ProbeResult&) const = default;
};

}  // namespace train
