// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// The values of the %-tokens of ssh_config(5).
struct SshTokens {
  std::string home;        ///< %d, and "~"
  std::string local_user;  ///< %u
  std::string user_id;     ///< %i
  std::string local_host;  ///< %l; %L is its part before the first dot
  std::string hostname;    ///< %h
  std::string name;        ///< %n: as the user gave it
  std::string alias;       ///< %k: HostKeyAlias, else as %n
  std::string user;        ///< %r
  int port = 22;           ///< %p
};

/// Expands "~/", %-tokens and ${VARIABLES} of a path like ssh does for IdentityFile. `variable`
/// returns the value of an environment variable, null if it is not set. Errors, of class `host`: an
/// unknown token, a variable that is not set, "~user".
Result<std::string> expand_ssh_path(std::string_view path, const SshTokens& tokens,
                                    const std::function<const char*(const char*)>& variable);

}  // namespace train
