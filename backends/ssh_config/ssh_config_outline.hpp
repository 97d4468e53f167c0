// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The parts of ssh's configuration that decide whether two hosts have the same settings, so that
/// `ssh -G` runs only once for both. Values of options are not read here: `ssh -G` reports them.
class SshConfigOutline {
 public:
  /// Adds the lines of one file (ssh_config(5)). Returns the paths of its Include lines as written,
  /// with patterns, for the caller to add as well.
  std::vector<std::string> add(std::string_view text);
  /// A part cannot be read: `ssh -G` must run for every host.
  void add_unknown() { is_per_host_ = true; }

  /// Whether any option could change the settings used here; otherwise ssh need not run.
  bool matters() const { return matters_ || is_per_host_; }
  /// Hosts of the same group have the same settings except for their names: the same `Host` lines
  /// apply to them, and nothing else depends on the host. Nothing when `ssh -G` must run for this
  /// host alone.
  std::optional<std::string> group_of(const std::string& host) const;

 private:
  void add_line(std::string_view line, std::vector<std::string>& includes);

  std::vector<std::vector<std::string>> host_lines_;
  std::set<std::string> host_names_;  ///< values of HostName
  bool matters_ = false;
  bool is_per_host_ = false;
};

/// Reads the user's and the system's ssh_config with all files that they include. `home` is the
/// value of "~". If a part cannot be read (unreadable, too large, included too deep or under a name
/// that only ssh can expand), `ssh -G` must run for every host. Nothing when neither file exists.
std::optional<SshConfigOutline> outline_ssh_config(const std::string& user_file,
                                                   const std::string& system_file,
                                                   const std::string& home);

}  // namespace train
