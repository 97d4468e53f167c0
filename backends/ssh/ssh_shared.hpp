// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/ssh/identities.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/libssh2_limits.hpp"
#include "backends/ssh/own_binary.hpp"
#include "backends/ssh/resolver.hpp"
#include "backends/ssh/ssh_config.hpp"
#include "backends/ssh/ssh_errors.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

class SshLink;

constexpr int default_ssh_port = 22;

/// What all links of a transport share.
struct SshShared : std::enable_shared_from_this<SshShared> {
  SshShared(Loop& loop, SshOptions options);

  /// Starts the link once fewer than `max_setups` are under way; never from inside this call.
  void enqueue(const std::shared_ptr<SshLink>& link);
  /// A link that was started is open or gone.
  void release_setup();
  /// The pause before the next try, longer each time and never the same for two links.
  nanoseconds backoff(int tries);
  /// The keys in the known_hosts files that these settings name, each list of files read once.
  KnownHosts& known_hosts_of(const SshSettings& settings);
  /// Trusts a new host's key from now on, writes it down, and says so.
  void accept_host_key(const SshSettings& settings, const Endpoint& host, const std::string& blob);
  /// New for every connection: 32 hexadecimal digits.
  std::string nonce();

  Loop& loop;
  SshOptions options;
  SshConfig config;
  Libssh2Algorithms algorithms;
  Identities identities;
  BinaryPacker packer;
  Resolver resolver;
  std::array<char, 32768> read_buffer{};

 private:
  void start_next();
  void post_start_next();

  std::map<std::vector<std::string>, KnownHosts> known_hosts_;  ///< by files
  bool said_no_is_not_no_ = false;
  std::mt19937_64 random_;
  std::deque<std::weak_ptr<SshLink>> waiting_;
  int setups_ = 0;
};

}  // namespace train
