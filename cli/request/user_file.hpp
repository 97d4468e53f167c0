// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config_schema/user_file.hpp"

namespace train {

/// The path of the user's file: $XDG_CONFIG_HOME/train/config.yaml, or ~/.config/train/config.yaml.
/// It need not exist; empty if there is no home directory.
std::string user_file_path();

/// Reads that file; nothing if it does not exist. Class `config` if it is wrong, or if others can
/// write it: it names programs that `train` runs.
Result<std::optional<UserFile>> read_user_file();

}  // namespace train
