// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/ssh_config/ssh_config.hpp"

namespace train {

/// What a ProxyJump asks for ("me@a:2200,b"): the host that connects to the target, and how that
/// one is reached in turn.
struct JumpRoute {
  SshDestination last;  ///< b
  /// "me@a:2200"; nothing: as its own configuration says.
  std::optional<std::string> before;
};

/// A jump host as it was written: "me@bastion:2200".
std::string jump_host_name(const SshDestination& jump_host);
/// Its name in the window of set-ups (SetupWindow).
std::string jump_server(const SshDestination& jump_host);

/// Reads a ProxyJump as ssh does: `[user@]host[:port]` or `ssh://[user@]host[:port]`, IPv6
/// addresses in brackets, one after the other. Errors, of class `host`: it makes no sense.
Result<JumpRoute> parse_jump_route(std::string_view proxy_jump);

}  // namespace train
