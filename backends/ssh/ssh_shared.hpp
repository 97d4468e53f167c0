// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/link/own_binary.hpp"
#include "backends/link/setup_window.hpp"
#include "backends/ssh/identities.hpp"
#include "backends/ssh/jump_hosts.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/libssh2_limits.hpp"
#include "backends/ssh/passphrases.hpp"
#include "backends/ssh/resolver.hpp"
#include "backends/ssh/ssh_config.hpp"
#include "backends/ssh/ssh_errors.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

constexpr int default_ssh_port = 22;

/// What all links of a transport share.
struct SshShared {
  SshShared(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window);

  /// The keys in the known_hosts files that these settings name, each list of files read once.
  KnownHosts& known_hosts_of(const SshSettings& settings);
  /// Trusts a new host's key from now on, writes it down, and says so.
  void accept_host_key(const SshSettings& settings, const Endpoint& host, const std::string& blob);

  Loop& loop;
  std::shared_ptr<SetupWindow> window;
  SshOptions options;
  SshConfig config;
  Libssh2Algorithms algorithms;
  Identities identities;
  Passphrases passphrases;
  BinaryPacker packer;
  Resolver resolver;
  JumpHosts jump_hosts;
  std::array<char, 32768> read_buffer{};

 private:
  std::map<std::vector<std::string>, KnownHosts> known_hosts_;  ///< by files
  bool said_no_is_not_no_ = false;
};

}  // namespace train
