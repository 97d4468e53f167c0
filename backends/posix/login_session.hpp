// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace train {

/// What systemd does to a process when its user logs out.
enum class AtLogout {
  nothing,
  kills_session,  ///< it is in the scope of a login, which logind kills (KillUserProcesses=yes)
  ends_manager,   ///< it is below the user's manager, which ends after the user's last logout
};

/// The cgroups of a process, and its user.
struct LoginSurroundings {
  std::string cgroups;     ///< the text of /proc/self/cgroup: lines "0::/PATH", or of version 1
  unsigned user = 0;       ///< number
  std::string user_name;   ///< empty: not known
  std::string root = "/";  ///< the folder that has etc, run, usr and var
};

/// The consequence of logind's configuration files for that process. `nothing` also if no file has
/// the setting. The commented settings in a distribution's logind.conf count as its built-in
/// defaults. The rules are those of logind.conf(5) and systemd.unit(5): files below /etc win over
/// /run over /usr, and drop-ins, in the order of their names, over the main file.
AtLogout at_logout(const LoginSurroundings& surroundings);

/// The same for this process.
AtLogout at_own_logout();

/// Whether the manager of this user keeps running after the last logout (`loginctl enable-linger`).
bool lingers(const std::string& root, const std::string& user_name);

/// The name of this process' user as its login has set it (`$USER`); empty when it is not set. The
/// agent is a static program and cannot call getpwuid.
std::string login_name();

}  // namespace train
