// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <string>

#include "backends/ssh/identities.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/own_binary.hpp"
#include "backends/ssh/resolver.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

class SshLink;

/// What all links of a transport share.
struct SshShared : std::enable_shared_from_this<SshShared> {
  SshShared(Loop& loop, SshOptions options);

  /// Starts the link once fewer than `max_setups` are under way; never from inside this call.
  void enqueue(const std::shared_ptr<SshLink>& link);
  /// A link that was started is open or gone.
  void release_setup();
  /// The pause before the next try, longer each time and never the same for two links.
  nanoseconds backoff(int tries);
  /// New for every connection: 32 hexadecimal digits.
  std::string nonce();

  Loop& loop;
  SshOptions options;
  KnownHosts known_hosts;
  Identities identities;
  BinaryPacker packer;
  Resolver resolver;
  std::array<char, 32768> read_buffer{};

 private:
  void start_next();
  void post_start_next();

  std::mt19937_64 random_;
  std::deque<std::weak_ptr<SshLink>> waiting_;
  int setups_ = 0;
};

}  // namespace train
