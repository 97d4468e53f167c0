// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config_schema/hosts/host_set.hpp"

namespace train {

/// Whether a numeric address is a loopback address: 127.0.0.0/8, also with fewer numbers (127.1,
/// which every resolver accepts), `::1` with any number of zeros, or `::ffff:127.0.0.1`. A zone
/// ("%lo") is ignored.
bool is_loopback(std::string_view address);

/// Whether a host's name or address always means the local machine: `localhost`, in any case and
/// also with a final dot, or a loopback address. No name is resolved.
bool is_localhost(std::string_view name_or_address);

/// Whether this is an IPv6 address, optionally with its interface: `fe80::1%eth0`.
bool is_ipv6_address(std::string_view text);

/// A numeric address in the form for use before ":port": "10.0.0.1", "[fd00::1]".
std::string in_brackets(const std::string& address);

/// "10.0.0.1:29500", "[fd00::1]:29500".
std::string endpoint_text(const std::string& address, int port);

// These functions read all values that reach command lines, from any file. `offset` is the position
// of `text`, for the error.

/// Reads the name of a user as ssh takes it.
tl::expected<std::string, HostSetError> read_user(std::string_view text, std::size_t offset);

/// Reads a connection address: one name, by the rules of host sets, or an IP address.
tl::expected<std::string, HostSetError> read_address(std::string_view text, std::size_t offset);

/// Reads the name of a network interface, or several separated by commas.
tl::expected<std::string, HostSetError> read_interface(std::string_view text, std::size_t offset);

/// Reads a port, 1 to 65,535.
tl::expected<int, HostSetError> read_port(std::string_view text, std::size_t offset);

}  // namespace train
