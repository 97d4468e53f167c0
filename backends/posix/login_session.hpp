// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace train {

/// What systemd does to a process when its user logs out.
enum class AtLogout {
  nothing,
  kills_session,  ///< it is in the scope of a login, which logind kills (KillUserProcesses=yes)
  ends_manager,   ///< it is below the user's manager, which ends after the user's last login
};

/// Where a process is, and whose it is.
struct LoginSurroundings {
  std::string cgroups;     ///< as /proc/self/cgroup has them: lines "0::/PATH", or of version 1
  unsigned user = 0;       ///< number
  std::string user_name;   ///< empty: not known
  std::string root = "/";  ///< the folder that has etc, run, usr and var
};

/// What the configuration of logind, as it is in its files, means for that process. `nothing` also
/// where no file says what would be: a distribution's logind.conf has the defaults that it was
/// built with as comments. The rules are those of logind.conf(5) and systemd.unit(5): files below
/// /etc win over /run over /usr, and drop-ins, in the order of their names, over the main file.
AtLogout at_logout(const LoginSurroundings& surroundings);

/// The same for this process.
AtLogout at_own_logout();

/// Whether the manager of a user of this name goes on after the last logout.
bool lingers(const std::string& root, const std::string& user_name);

/// The name of this process' user as its login has set it (`$USER`); empty when it is not set. The
/// agent is a static program and cannot call getpwuid.
std::string login_name();

}  // namespace train
