// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// One address of an interface of this machine that is up. Loopback and link-local ones, which no
/// other host reaches, are left out.
struct InterfaceAddress {
  std::string interface;
  std::string address;  ///< numeric
};

/// All of them, IPv4 first.
std::vector<InterfaceAddress> interface_addresses();

/// What the hosts file says that others reach this machine by: its `address`, if that is numeric
/// and no loopback address, else the first address of its `interface`; empty where it says neither.
std::string declared_address(const Host& host, const std::vector<InterfaceAddress>& addresses);

/// The address that others must mean, since this machine has no other one: its only IPv4 address,
/// or without any its only IPv6 address; empty when it has several.
std::string only_address(const std::vector<InterfaceAddress>& addresses);

}  // namespace train
