// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/link/host_settings.hpp"
#include "config_schema/hosts/host_inventory.hpp"

namespace train {

/// The arguments of the `ssh` that runs `remote_command` on a host, "ssh" first: without terminal,
/// prompt, forwarding or local command, and with strict host keys but for new ones that are
/// accepted, whatever ssh_config(5) says; all else is ssh_config's to decide. Of the host only what
/// was declared is passed on. None of them is a secret.
std::vector<std::string> openssh_arguments(const Host& host, const std::string& remote_command,
                                           NewHostKey new_host_key = NewHostKey::refused);

/// What a user types to see the same trouble: "ssh -p 2222 -l me gpu-a".
std::string openssh_command_to_type(const Host& host);

}  // namespace train
