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

/// What to do with a host key that is in no known_hosts file.
enum class NewHostKey {
  refused,
  accepted,         ///< and added to the user's known_hosts file
  accepted_for_no,  ///< the same, because of `StrictHostKeyChecking no`
};

/// Shown once when a key was accepted for that reason.
constexpr const char* strict_no_warning =
    "warning: 'StrictHostKeyChecking no' is taken as accept-new: changed host keys are refused";

/// The part of ssh's configuration of one host that is needed to start an `ssh` for it.
struct HostSettings {
  /// The server that counts in the window of set-ups: the jump host in front of it, else its
  /// address.
  std::string server;
  NewHostKey new_host_key = NewHostKey::refused;
  std::string known_hosts_file = {};  ///< where accepted keys are added; empty: none
  std::optional<std::chrono::seconds> connect_timeout = {};
};

/// Reports the settings of a host, from the loop and never from inside the call.
using HostSettingsOf = std::function<void(const Host&, std::function<void(Result<HostSettings>)>)>;

/// Selects the variables ("NAME=value") that ssh may see: those that ssh, its agents and its
/// askpass programs use. Variables for other programs may hold secrets and are left out.
std::vector<std::string> ssh_environment(const std::vector<std::string>& environment);

}  // namespace train
