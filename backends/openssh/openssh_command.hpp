// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/link/host_settings.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// The arguments of the `ssh` that runs `remote_command` on a host, starting with "ssh": without
/// terminal, prompt, forwarding or local command, and with strict host key checking except for
/// accepted new keys, whatever ssh_config(5) says; ssh_config decides everything else. Only the
/// declared settings of the host are passed on. No argument is a secret.
std::vector<std::string> openssh_arguments(const Host& host, const std::string& remote_command,
                                           NewHostKey new_host_key = NewHostKey::refused);

/// The command with which a user can reproduce a failure: "ssh -p 2222 -l me gpu-a".
std::string openssh_command_to_type(const Host& host);

}  // namespace train
