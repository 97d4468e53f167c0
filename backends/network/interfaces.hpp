// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/rendezvous/host_networks.hpp"

namespace train {

/// The root of the kernel's device files; tests use their own.
struct NetworkFiles {
  std::string sys = "/sys";
};

/// One address of an interface, as the kernel lists it.
struct InterfaceEntry {
  std::string interface;     ///< or the label of an address: "eth0:1"
  std::string address;       ///< numeric
  int prefix = 0;            ///< bits of its netmask
  bool is_running = false;   ///< it is up and has a carrier
  bool is_loopback = false;  ///< the interface, not the address

  bool operator==(const InterfaceEntry&) const = default;
};

/// All IPv4 and IPv6 addresses of this host (getifaddrs), in the kernel's order; empty on failure.
std::vector<InterfaceEntry> interface_entries();

/// The addresses at which other hosts might reach ranks: one for each interface that is running and
/// not a loopback, since Gloo and NCCL are given an interface and choose one of its addresses. This
/// is its first IPv4 address, a link-local one (169.254/16) only if it has no other, else its first
/// IPv6 address that is not link-local. Order: devices before virtual interfaces, then faster
/// before slower ones, then by name. At most the first `most_network_addresses`.
///
/// Skips interfaces whose names cannot be in the variables, which are lists with commas.
std::vector<NetworkAddress> network_addresses(const std::vector<InterfaceEntry>& entries,
                                              const NetworkFiles& files);
/// The addresses of this host at this moment.
std::vector<NetworkAddress> network_addresses(const NetworkFiles& files = {});

}  // namespace train
