// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// One address of an interface of this machine that is up. Loopback and link-local addresses are
/// left out, since other hosts cannot reach them.
struct InterfaceAddress {
  std::string interface;
  std::string address;  ///< numeric
};

/// All addresses of this machine, IPv4 first.
std::vector<InterfaceAddress> interface_addresses();

/// The address at which others reach this machine, according to the hosts file: its `address`, if
/// that is numeric and no loopback address, else the first address of its `interface`; empty when
/// the file has neither.
std::string declared_address(const Host& host, const std::vector<InterfaceAddress>& addresses);

/// The only address of this machine: its only IPv4 address, or without any its only IPv6 address;
/// empty when it has several.
std::string only_address(const std::vector<InterfaceAddress>& addresses);

}  // namespace train
