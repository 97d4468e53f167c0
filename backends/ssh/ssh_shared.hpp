// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "backends/ssh/host_sessions.hpp"
#include "backends/ssh/jump_hosts.hpp"
#include "backends/ssh/ssh_files.hpp"
#include "backends/ssh/ssh_transport.hpp"
#include "backends/ssh_config/libssh2_limits.hpp"
#include "backends/ssh_keys/held_keys.hpp"
#include "backends/ssh_keys/login_plans.hpp"
#include "backends/ssh_keys/passphrases.hpp"
#include "backends/ssh_session/resolver.hpp"
#include "backends/ssh_session/ssh_errors.hpp"

namespace train {

/// The state that all links of a transport share.
struct SshShared : std::enable_shared_from_this<SshShared> {
  SshShared(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window,
            std::shared_ptr<SshFiles> files);

  /// Trusts the key of a new host from now on, adds it to known_hosts, and tells the user.
  /// `on_done` is called from the loop and never from inside this call.
  void accept_host_key(const SshSettings& settings, const Endpoint& host, const std::string& blob,
                       std::function<void()> on_done);

  Loop& loop;
  SshOptions options;
  std::shared_ptr<SetupWindow> window;
  std::shared_ptr<SshFiles> files;
  Libssh2Algorithms algorithms;
  LoginPlans login_plans;
  HeldKeys held_keys;
  Passphrases passphrases;
  Resolver resolver;
  JumpHosts jump_hosts;
  HostSessions host_sessions;
  std::array<char, 32768> read_buffer{};

 private:
  bool has_warned_of_strict_no_ = false;
};

}  // namespace train
