// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// What becomes of a host key that no known_hosts file has.
enum class NewHostKey {
  refused,
  accepted,         ///< and added to the user's known_hosts file
  accepted_for_no,  ///< the same where the configuration has `StrictHostKeyChecking no`
};

/// Said once when a key was accepted for that reason.
constexpr const char* strict_no_warning =
    "warning: 'StrictHostKeyChecking no' is taken as accept-new: changed host keys are refused";

/// What ssh's configuration says of one host, as far as whoever starts an `ssh` for it has to know.
struct HostSettings {
  /// Where it needs room in the window of set-ups: the jump host that it is behind, else its
  /// address.
  std::string server;
  NewHostKey new_host_key = NewHostKey::refused;
  std::string known_hosts_file = {};  ///< takes accepted keys; empty: none
  std::optional<std::chrono::seconds> connect_timeout = {};
};

/// Tells the settings of a host, from the loop and never from inside the call.
using HostSettingsOf = std::function<void(const Host&, std::function<void(Result<HostSettings>)>)>;

/// Of the variables of this process ("NAME=value") those that ssh may see: what it, its agents and
/// its askpass programs use, and nothing that a user keeps for other programs.
std::vector<std::string> ssh_environment(const std::vector<std::string>& environment);

}  // namespace train
