// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/ssh_config/file_work.hpp"
#include "backends/ssh_config/ssh_config_outline.hpp"
#include "backends/ssh_config/ssh_query.hpp"
#include "backends/ssh_config/ssh_settings.hpp"

namespace train {

/// Where ssh's configuration is, and the program that reads it.
struct SshConfigFiles {
  std::string user_file;    ///< "/home/me/.ssh/config"; empty: none
  std::string system_file;  ///< "/etc/ssh/ssh_config"; empty: none
  std::string home;         ///< what "~" is in their Include lines
  std::string program = "ssh";
  std::vector<std::string> environment;        ///< of the program, and of what a `Match exec` runs
  std::chrono::milliseconds deadline{10'000};  ///< for each answer
};

/// What is asked about: the arguments of ssh.
struct SshDestination {
  std::string host;
  std::string user;         ///< empty: what the configuration says
  std::optional<int> port;  ///< nothing: what the configuration says

  bool operator==(const SshDestination&) const = default;
};

/// The settings of hosts as `ssh -G` tells them, which alone knows all of ssh_config. It is asked
/// once for all hosts for which the same lines hold, a few at a time, and not at all when the
/// configuration has nothing that matters.
class SshConfig {
 public:
  using OnSettings = std::function<void(Result<SshSettings>)>;

  /// `defaults` are the settings of a host without any configuration; their hostname, user and port
  /// are filled in. The files are read by `work`.
  SshConfig(Loop& loop, FileWork& work, SshConfigFiles files, SshSettings defaults);
  ~SshConfig();
  SshConfig(const SshConfig&) = delete;
  SshConfig& operator=(const SshConfig&) = delete;

  /// Calls back from the loop, never from inside this call, as long as this object lives. Errors,
  /// of class `host` or `missing`: ssh is not there, is late, or does not like its configuration;
  /// the files cannot be read in time.
  void settings_of(const SshDestination& destination, OnSettings on_settings);

 private:
  struct Waiter {
    SshDestination destination;
    OnSettings on_settings;
  };
  struct Group {
    std::optional<Result<SshSettings>> settings;  ///< an empty hostname: the host's own name
    std::vector<Waiter> waiting;
  };

  std::string group_of(const SshDestination& destination) const;
  void read_files();
  void on_files(Result<void> done);
  void look_up(Waiter waiter);
  void answer(OnSettings on_settings, Result<SshSettings> settings);
  void ask_next();
  void on_answer(const std::string& group, const SshDestination& asked, Result<std::string> output);
  Result<SshSettings> settings_for(const Group& group, const SshDestination& destination) const;
  SshSettings default_settings(const SshDestination& destination) const;

  enum class Files { unread, being_read, read };

  Loop& loop_;
  FileWork& work_;
  SshConfigFiles files_;
  SshSettings defaults_;
  int max_queries_;
  Files files_state_ = Files::unread;
  std::optional<Error> trouble_;  ///< with the files
  std::optional<SshConfigOutline> outline_;
  std::vector<Waiter> waiting_;  ///< for the files
  std::map<std::string, Group> groups_;
  std::deque<std::string> unasked_;  ///< groups, in order
  Background reaper_;
  std::map<std::string, std::unique_ptr<SshQuery>> queries_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace train
