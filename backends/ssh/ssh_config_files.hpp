// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/ssh/ssh_config_outline.hpp"

namespace train {

/// Reads the user's and the system's ssh_config with all files that they include. `home` is what
/// "~" is. What cannot be looked into (unreadable, too large, included too deep or under a name
/// that only ssh can expand) makes every host one that is asked for by itself. Nothing when neither
/// file exists.
std::optional<SshConfigOutline> outline_ssh_config(const std::string& user_file,
                                                   const std::string& system_file,
                                                   const std::string& home);

}  // namespace train
