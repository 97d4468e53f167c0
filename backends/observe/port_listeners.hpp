// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace train {

/// A TCP socket that listens on this host, on whichever address.
struct PortListener {
  std::uint16_t port = 0;
  unsigned uid = 0;  ///< who made the socket, as this process's user namespace numbers users

  bool operator==(const PortListener&) const = default;
};

/// The listeners in the text of /proc/net/tcp or /proc/net/tcp6, as proc(5) describes it; lines
/// that are none are skipped.
std::vector<PortListener> listeners_in(std::string_view table);

/// The listeners of this network namespace, IPv4 and IPv6; at most 4 MiB of each table is read, and
/// nothing is seen where /proc does not show them.
std::vector<PortListener> listeners();

/// Whose a listener is.
enum class ListenerOwner {
  ours,     ///< this user's, or that of a user as whom a descendant of this process runs
  other,    ///< another user's
  unknown,  ///< root's, who can take any port and runs containers for others, or that of a user
            ///< without a number in this user namespace
};
ListenerOwner owner_of_listener(const PortListener& listener);

}  // namespace train
