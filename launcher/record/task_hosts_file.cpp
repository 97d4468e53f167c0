// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/task_hosts_file.hpp"

#include <nlohmann/json.hpp>

namespace train {

namespace {

// JSON strings are valid as YAML's double-quoted strings.
std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string absolute(const std::string& file, const std::string& directory) {
  // ssh expands "~" and "%d" to the home directory.
  const bool is_relative = file.front() != '/' && file.front() != '~' && file.front() != '%';
  return is_relative ? directory + "/" + file : file;
}

}  // namespace

std::string task_hosts_file(const std::vector<Host>& hosts, const std::string& directory) {
  std::string text = "hosts:\n";
  for (const Host& host : hosts) {
    text += "  - {name: " + in_quotes(host.name);
    if (!host.address.empty()) text += ", address: " + in_quotes(host.address);
    if (!host.user.empty()) text += ", user: " + in_quotes(host.user);
    if (host.port) text += ", port: " + std::to_string(*host.port);
    if (!host.identity_file.empty())
      text += ", identity_file: " + in_quotes(absolute(host.identity_file, directory));
    text += ", transport: " + transport_yaml(host) + "}\n";
  }
  return text;
}

}  // namespace train
