// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The home directory: $HOME, or what the user database says.
std::string home_directory();

/// Where ssh looks for ~/.ssh: what the user database says, whatever $HOME is; $HOME for a user who
/// is not in it.
std::string home_of_ssh();

/// The name of the user who runs this process.
std::string user_name();

}  // namespace train
