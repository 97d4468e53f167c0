// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// What of ssh's configuration decides whether two hosts have the same settings, so that `ssh -G`
/// need be asked only once for both. It is not read for its values: these are ssh's to tell.
class SshConfigOutline {
 public:
  /// Adds the lines of one file (ssh_config(5)) and returns the paths of its Include lines as
  /// written, patterns and all, for the caller to add as well.
  std::vector<std::string> add(std::string_view text);
  /// Something cannot be looked into: every host is asked for.
  void add_unknown() { is_per_host_ = true; }

  /// Whether anything in it could change what is used here: without, ssh need not be asked.
  bool matters() const { return matters_ || is_per_host_; }
  /// Hosts with the same key have the same settings but for their names: the same `Host` lines hold
  /// for them, and nothing else depends on the host. Nothing when this host must be asked for by
  /// itself.
  std::optional<std::string> group_of(const std::string& host) const;

 private:
  void add_line(std::string_view line, std::vector<std::string>& includes);

  std::vector<std::vector<std::string>> host_lines_;
  std::set<std::string> host_names_;  ///< values of HostName
  bool matters_ = false;
  bool is_per_host_ = false;
};

/// Reads the user's and the system's ssh_config with all files that they include. `home` is what
/// "~" is. What cannot be looked into (unreadable, too large, included too deep or under a name
/// that only ssh can expand) makes every host one that is asked for by itself. Nothing when neither
/// file exists.
std::optional<SshConfigOutline> outline_ssh_config(const std::string& user_file,
                                                   const std::string& system_file,
                                                   const std::string& home);

}  // namespace train
