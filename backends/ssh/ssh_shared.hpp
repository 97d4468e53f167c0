// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>

#include "backends/link/link_commons.hpp"
#include "backends/ssh/identities.hpp"
#include "backends/ssh/jump_hosts.hpp"
#include "backends/ssh/libssh2_limits.hpp"
#include "backends/ssh/passphrases.hpp"
#include "backends/ssh/resolver.hpp"
#include "backends/ssh/ssh_errors.hpp"
#include "backends/ssh/ssh_files.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

/// What all links of a transport share.
struct SshShared {
  SshShared(Loop& loop, SshOptions options, LinkCommons commons, std::shared_ptr<SshFiles> files);

  /// Trusts a new host's key from now on, writes it down, and says so.
  void accept_host_key(const SshSettings& settings, const Endpoint& host, const std::string& blob);

  Loop& loop;
  SshOptions options;
  std::shared_ptr<SetupWindow> window;
  std::shared_ptr<BinaryPacker> packer;
  std::shared_ptr<SshFiles> files;
  Libssh2Algorithms algorithms;
  Identities identities;
  Passphrases passphrases;
  Resolver resolver;
  JumpHosts jump_hosts;
  std::array<char, 32768> read_buffer{};

 private:
  bool said_no_is_not_no_ = false;
};

}  // namespace train
