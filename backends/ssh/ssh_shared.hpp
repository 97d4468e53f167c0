// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string>

#include "backends/link/own_binary.hpp"
#include "backends/link/setup_window.hpp"
#include "backends/ssh/identities.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/resolver.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

class SshLink;

/// What all links of a transport share.
struct SshShared {
  SshShared(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window);

  /// Starts the link once the window has room; never from inside this call.
  void enqueue(const std::shared_ptr<SshLink>& link);

  Loop& loop;
  std::shared_ptr<SetupWindow> window;
  SshOptions options;
  KnownHosts known_hosts;
  Identities identities;
  BinaryPacker packer;
  Resolver resolver;
  std::array<char, 32768> read_buffer{};
};

}  // namespace train
