// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/ssh_config/ssh_config.hpp"

namespace train {

/// A parsed ProxyJump ("me@a:2200,b"): the host that connects to the target, and how that host is
/// reached.
struct JumpRoute {
  SshDestination last;  ///< b
  /// "me@a:2200"; nothing: as the configuration of `last` says.
  std::optional<std::string> before;
};

/// The jump host as the user wrote it: "me@bastion:2200".
std::string jump_host_name(const SshDestination& jump_host);
/// Its name in the window of set-ups (SetupWindow).
std::string jump_server(const SshDestination& jump_host);

/// Parses a ProxyJump like ssh does: `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6
/// addresses in brackets, separated by commas. Errors, of class `host`: invalid syntax.
Result<JumpRoute> parse_jump_route(std::string_view proxy_jump);

}  // namespace train
