// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config_schema/hosts/host_set.hpp"

namespace train {

/// Whether a numeric address is one by which a machine reaches itself, and no other: 127.0.0.0/8,
/// also with fewer numbers (127.1, as every resolver reads it), `::1` however many zeros it is
/// written with, or `::ffff:127.0.0.1`. A zone ("%lo") does not matter.
bool is_loopback(std::string_view address);

/// Whether a host's name or address is this machine wherever it is read: `localhost`, in any case
/// of letters and with a final dot too, or a loopback address. Nothing is looked up.
bool is_localhost(std::string_view name_or_address);

/// Whether this is an IPv6 address, perhaps with the interface that it is reached through:
/// `fe80::1%eth0`.
bool is_ipv6_address(std::string_view text);

/// A numeric address as it stands before ":port": "10.0.0.1", "[fd00::1]".
std::string in_brackets(const std::string& address);

/// "10.0.0.1:29500", "[fd00::1]:29500".
std::string endpoint_text(const std::string& address, int port);

// What reaches command lines is read by these, whichever file it is in. `offset` is where `text`
// begins, for the error.

/// Reads the name of a user as ssh takes it.
tl::expected<std::string, HostSetError> read_user(std::string_view text, std::size_t offset);

/// Reads what is connected to: one name, by the rules of host sets, or an IP address.
tl::expected<std::string, HostSetError> read_address(std::string_view text, std::size_t offset);

/// Reads the name of a network interface, or several with commas between them.
tl::expected<std::string, HostSetError> read_interface(std::string_view text, std::size_t offset);

/// Reads a port, 1 to 65,535.
tl::expected<int, HostSetError> read_port(std::string_view text, std::size_t offset);

}  // namespace train
