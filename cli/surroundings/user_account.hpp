// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// The home directory: $HOME, else the entry in the user database.
std::string home_directory();

/// The directory in which ssh looks for ~/.ssh: the entry in the user database, regardless of
/// $HOME; $HOME for a user without an entry.
std::string home_of_ssh();

/// The name of the user who runs this process.
std::string user_name();

}  // namespace train
