// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/doctor/machine_facts.hpp"

namespace train {

/// Where this user's things are.
struct MachinePlaces {
  std::string ssh_home;      ///< the folder that has .ssh
  std::string user;          ///< the user's name
  std::string search_path;   ///< PATH
  std::string agent_socket;  ///< SSH_AUTH_SOCK; empty: none
  std::string state;         ///< the state directory, which need not exist
  std::string temporary;     ///< the directory for temporary files
};

/// Looks at this machine. Fills in all but `hosts_file` and `user_file` with what belongs to them,
/// and `state_error`.
/// Asks no host, and creates no file that stays; tasks are listed as `TaskStore::list` does, which
/// records the ends that it finds. Blocks for a few seconds at most, for ssh-agent and `ssh -G`;
/// for longer only if a file system hangs.
MachineFacts look_at_machine(const MachinePlaces& places);

}  // namespace train
