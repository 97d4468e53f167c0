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

/// The files of ssh's configuration, and the program that reads them.
struct SshConfigFiles {
  std::string user_file;    ///< "/home/me/.ssh/config"; empty: none
  std::string system_file;  ///< "/etc/ssh/ssh_config"; empty: none
  std::string home;         ///< the value of "~" in their Include lines
  std::string program = "ssh";
  std::vector<std::string> environment;        ///< of the program, and of commands of `Match exec`
  std::chrono::milliseconds deadline{10'000};  ///< for each answer
};

/// The arguments of ssh for which settings are read.
struct SshDestination {
  std::string host;
  std::string user;         ///< empty: from the configuration
  std::optional<int> port;  ///< nothing: from the configuration

  bool operator==(const SshDestination&) const = default;
};

/// The settings of hosts as `ssh -G` reports them: only ssh itself understands all of ssh_config.
/// It runs once for all hosts to which the same lines apply, a few at a time, and not at all when
/// the configuration has no relevant options.
class SshConfig {
 public:
  using OnSettings = std::function<void(Result<SshSettings>)>;

  /// `defaults` are the settings of a host without configuration; their hostname, user and port are
  /// filled in. `work` reads the files.
  SshConfig(Loop& loop, FileWork& work, SshConfigFiles files, SshSettings defaults);
  ~SshConfig();
  SshConfig(const SshConfig&) = delete;
  SshConfig& operator=(const SshConfig&) = delete;

  /// Calls back from the loop, never from inside this call, as long as this object lives. Errors,
  /// of class `host` or `missing`: ssh is missing, is late, or rejects its configuration; the files
  /// cannot be read in time.
  void settings_of(const SshDestination& destination, OnSettings on_settings);

 private:
  struct Waiter {
    SshDestination destination;
    OnSettings on_settings;
  };
  struct Group {
    std::optional<Result<SshSettings>> settings;  ///< an empty hostname: the name of the host
                                                  ///< itself
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
  std::vector<Waiter> waiting_;  ///< until the files were read
  std::map<std::string, Group> groups_;
  std::deque<std::string> unasked_;  ///< groups, in order
  Background reaper_;
  std::map<std::string, std::unique_ptr<SshQuery>> queries_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace train
