// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/link/host_settings.hpp"
#include "backends/ssh/ssh_transport.hpp"
#include "backends/ssh_config/file_work.hpp"
#include "backends/ssh_config/ssh_config.hpp"
#include "backends/ssh_config/ssh_tokens.hpp"
#include "backends/ssh_formats/known_hosts.hpp"

namespace train {

/// The arguments with which ssh reaches this host.
SshDestination destination_of(const Host& host);

/// The settings and known keys of hosts in ssh's files on this machine, each read once. Transports
/// may share one object.
class SshFiles {
 public:
  /// Uses only the file names and the user of the options.
  SshFiles(Loop& loop, const SshOptions& options);

  SshConfig& config() { return config_; }
  /// The values of %-tokens with these settings; `name` is the name of the host.
  SshTokens tokens_of(const SshSettings& settings, const std::string& name) const;
  /// The ProxyJump of these settings with its tokens expanded: `ssh -G` leaves them (%h) as they
  /// are.
  Result<std::string> jumps_of(const SshSettings& settings, const std::string& name) const;
  /// Reads the known_hosts files of these settings, unless they were read before. Calls back, from
  /// the loop and never from inside this call, as long as this object lives; with an error of class
  /// `host` when it takes too long.
  using OnRead = std::function<void(Result<void>)>;
  void read_known_hosts(const SshSettings& settings, OnRead on_read);
  /// The keys in these files, which must have been read.
  KnownHosts& known_hosts_of(const SshSettings& settings);
  /// The keys in these files that are known for the host itself.
  std::vector<KnownKey> known_keys_of(const SshSettings& settings);
  /// Adds a line to a known_hosts file. Calls back like `read_known_hosts`, also with an error when
  /// the file cannot be written.
  void append_known_host(const std::string& file, const std::string& line, OnRead on_written);

  /// The settings that are needed to start an `ssh` for a host. Calls back like `SshConfig`. A host
  /// with any line in known_hosts files, even only one for its certificate authority, is not new.
  void host_settings_of(const Host& host, std::function<void(Result<HostSettings>)> on_settings);

 private:
  // The result of reading some files; `done` is empty while they are being read.
  struct ReadKnownHosts {
    std::optional<Result<void>> done;
    KnownHosts known;
    std::vector<OnRead> waiting;
  };

  HostSettings host_settings(const SshSettings& settings, const std::string& name);
  void answer(OnRead on_read, Result<void> done);
  void on_known_hosts(const std::vector<std::string>& files, KnownHosts known, Result<void> done);

  Loop& loop_;
  std::string home_;
  std::string local_user_;
  FileWork work_;
  SshConfig config_;
  std::map<std::vector<std::string>, ReadKnownHosts> known_hosts_;  ///< by files
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace train
