// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/link/host_settings.hpp"
#include "backends/ssh/known_hosts.hpp"
#include "backends/ssh/ssh_config.hpp"
#include "backends/ssh/ssh_tokens.hpp"
#include "backends/ssh/ssh_transport.hpp"

namespace train {

/// What ssh is asked for to reach this host.
SshDestination destination_of(const Host& host);

/// What ssh's files on this machine say of hosts: their settings and their known keys, each read
/// once. Transports may share one.
class SshFiles {
 public:
  /// Of the options it keeps which files there are, and whose.
  SshFiles(Loop& loop, const SshOptions& options);

  SshConfig& config() { return config_; }
  /// What %-tokens stand for with these settings; `name` is the host's own.
  SshTokens tokens_of(const SshSettings& settings, const std::string& name) const;
  /// The ProxyJump of these settings, of which `ssh -G` leaves the tokens (%h) as they are.
  Result<std::string> jumps_of(const SshSettings& settings, const std::string& name) const;
  /// The keys in the known_hosts files that these settings name.
  KnownHosts& known_hosts_of(const SshSettings& settings);
  /// Those of the host itself.
  std::vector<KnownKey> known_keys_of(const SshSettings& settings);

  /// What the `ssh` that is started for a host has to be told. Calls back as `SshConfig` does. A
  /// host of which known_hosts files say anything is not new, be it only its certificate authority.
  void host_settings_of(const Host& host,
                        std::function<void(const Result<HostSettings>&)> on_settings);

 private:
  HostSettings host_settings(const SshSettings& settings, const std::string& name);

  std::string home_;
  std::string local_user_;
  SshConfig config_;
  std::map<std::vector<std::string>, KnownHosts> known_hosts_;  ///< by files
};

}  // namespace train
