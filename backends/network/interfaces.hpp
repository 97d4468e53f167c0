// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// Where the kernel shows devices; tests have files of their own.
struct NetworkFiles {
  std::string sys = "/sys";
};

/// One address of an interface, as the kernel lists it.
struct InterfaceEntry {
  std::string interface;     ///< or the label of an address: "eth0:1"
  std::string address;       ///< in numbers
  int prefix = 0;            ///< bits of its netmask
  bool is_running = false;   ///< it is up and has a carrier
  bool is_loopback = false;  ///< the interface, not the address

  bool operator==(const InterfaceEntry&) const = default;
};

/// All IPv4 and IPv6 addresses of this host (getifaddrs), in the kernel's order; none when it does
/// not tell.
std::vector<InterfaceEntry> interface_entries();

/// The addresses at which other hosts might reach ranks: one for each interface that is running and
/// no loopback, since Gloo and NCCL are told an interface and take an address of it. That is its
/// first IPv4 address, a link-local one (169.254/16) only if it has no other, else its first IPv6
/// address that is not link-local. Devices come before what is virtual, then faster ones before
/// slower ones, then names in order; at most `most_network_addresses`, of this order.
///
/// An interface is left out when variables cannot carry its name: they hold lists, with commas.
std::vector<NetworkAddress> network_addresses(const std::vector<InterfaceEntry>& entries,
                                              const NetworkFiles& files);
/// The same, of this host as it is now.
std::vector<NetworkAddress> network_addresses(const NetworkFiles& files = {});

}  // namespace train
