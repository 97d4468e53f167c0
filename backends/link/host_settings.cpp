// SPDX-License-Identifier: Apache-2.0
#include "backends/link/host_settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace train {

namespace {

constexpr std::array<std::string_view, 25> passed_on = {
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "KRB5CCNAME",
    "KRB5_CONFIG",
    "KRB5_KTNAME",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SSH_SK_HELPER",
    "SSH_SK_PROVIDER",
};

}  // namespace

std::vector<std::string> ssh_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  for (const std::string& variable : environment) {
    const auto name = std::string_view(variable).substr(0, variable.find('='));
    if (name.starts_with("LC_") ||
        std::find(passed_on.begin(), passed_on.end(), name) != passed_on.end())
      result.push_back(variable);
  }
  return result;
}

}  // namespace train
