// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/ssh_config/ssh_settings.hpp"
#include "backends/ssh_formats/known_hosts.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The algorithms that the libssh2 in use knows.
struct Libssh2Algorithms {
  std::vector<std::string> key_exchanges;
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  std::vector<std::string> host_keys;
};

/// Why a host can be reached only by OpenSSH's own client, and what the user can do about it.
struct Libssh2Obstacle {
  std::string reason;     ///< "ProxyCommand is set for it"
  std::string next_step;  ///< an alternative to using OpenSSH
};

/// Why libssh2, or the code here, cannot do what the settings of a host or its lines in known_hosts
/// require. Nothing when libssh2 can be tried.
std::optional<Libssh2Obstacle> why_not_libssh2(const SshSettings& settings,
                                               const std::vector<KnownKey>& known,
                                               const Libssh2Algorithms& algorithms);

/// The supported ones of the allowed algorithms, in the order of `allowed`; all supported ones when
/// `allowed` is empty.
std::vector<std::string> common_algorithms(const std::vector<std::string>& allowed,
                                           const std::vector<std::string>& supported);

/// The error for a host that cannot be reached because of this.
Error obstacle_error(const Libssh2Obstacle& obstacle);

}  // namespace train
