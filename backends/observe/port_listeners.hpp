// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace train {

/// A TCP socket that listens on this host, on any address.
struct PortListener {
  std::uint16_t port = 0;
  unsigned uid = 0;  ///< the owner of the socket, in the numbers of this process's user namespace

  bool operator==(const PortListener&) const = default;
};

/// The listeners in the text of /proc/net/tcp or /proc/net/tcp6, as proc(5) describes it; skips all
/// other lines.
std::vector<PortListener> listeners_in(std::string_view table);

/// The listeners of this network namespace, IPv4 and IPv6. Reads at most 4 MiB of each table; empty
/// if /proc does not show the tables.
std::vector<PortListener> listeners();

/// The owner of a listener.
enum class ListenerOwner {
  ours,     ///< this user, or a user as which a descendant of this process runs
  other,    ///< another user
  unknown,  ///< root, which can take any port and runs containers for other users, or a user
            ///< without a number in this user namespace
};
ListenerOwner owner_of_listener(const PortListener& listener);

}  // namespace train
