// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backends/ssh_config/jump_route.hpp"
#include "backends/ssh_config/libssh2_limits.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

class JumpHost;
struct SshShared;

/// Why a jump host cannot be used.
struct JumpFailure {
  Error error;
  std::optional<Libssh2Obstacle> obstacle = {};  ///< set when OpenSSH's client may succeed
};

/// The jump hosts in use, by name and route.
class JumpHosts {
 public:
  /// The jump host at the end of this route: an existing usable one, or a new one.
  std::shared_ptr<JumpHost> find(const std::shared_ptr<SshShared>& shared, const JumpRoute& route);
  /// Notes that the login to a jump host failed, so that it is not tried again for a while.
  void remember(const JumpRoute& route, const JumpFailure& failure, Instant now);

 private:
  struct Known {
    std::weak_ptr<JumpHost> jump_host;
    std::optional<JumpFailure> failure;
    Instant failed{};
  };
  std::map<std::string, Known> known_;
};

}  // namespace train
