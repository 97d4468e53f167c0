// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/login_session.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// In order of precedence.
constexpr const char* configuration_folders[] = {"etc", "run", "usr/local/lib", "usr/lib"};
constexpr std::size_t most_drop_ins = 256;

std::string joined(const std::string& root, std::string_view path) {
  return root.ends_with('/') ? fmt::format("{}{}", root, path) : fmt::format("{}/{}", root, path);
}

// The part of the cgroup path below the user's slice, in the hierarchy that systemd manages
// (version 2, or "name=systemd" of version 1). Empty if the process is elsewhere.
std::string_view within_slice(std::string_view cgroups, const std::string& slice) {
  for (const auto& [hierarchy, path] : cgroups_in(cgroups))
    if ((hierarchy.empty() || hierarchy == "name=systemd") && path.starts_with(slice))
      return path.substr(slice.size());
  return {};
}

struct LogindSettings {
  std::optional<bool> kills;  ///< KillUserProcesses
  std::string only;           ///< KillOnlyUsers: names with spaces between
  std::string excluded = "root";
};

std::optional<bool> truth(std::string_view word) {
  for (const std::string_view yes : {"1", "yes", "y", "true", "t", "on"})
    if (word == yes) return true;
  for (const std::string_view no : {"0", "no", "n", "false", "f", "off"})
    if (word == no) return false;
  return std::nullopt;
}

void apply(std::string_view name, std::string_view value, LogindSettings& settings) {
  if (name == "KillUserProcesses" && truth(value)) settings.kills = truth(value);
  if (name == "KillOnlyUsers") settings.only = value;
  if (name == "KillExcludeUsers") settings.excluded = value;
}

enum class Lines { settings, commented_defaults };

void read_settings(const std::string& path, Lines wanted, LogindSettings& settings) {
  const std::string text = read_small_file(path);
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (wanted == Lines::commented_defaults) {
      if (!line.starts_with('#')) continue;
      line.remove_prefix(1);
    }
    const std::size_t equals = line.find('=');
    if (equals != line.npos)
      apply(trim(line.substr(0, equals)), trim(line.substr(equals + 1)), settings);
  }
}

LogindSettings logind_settings(const std::string& root) {
  LogindSettings settings;
  std::map<std::string, std::string> drop_ins;
  std::string main_file;
  for (const std::string_view folder : configuration_folders) {
    const std::string path = joined(root, fmt::format("{}/systemd/logind.conf", folder));
    if (main_file.empty() && ::access(path.c_str(), F_OK) == 0) main_file = path;
    for (std::string& name : names_in(FolderReader(path + ".d"), most_drop_ins))
      if (name.ends_with(".conf")) drop_ins.emplace(name, fmt::format("{}.d/{}", path, name));
  }
  read_settings(main_file, Lines::commented_defaults, settings);
  read_settings(main_file, Lines::settings, settings);
  for (const auto& [name, path] : drop_ins) read_settings(path, Lines::settings, settings);
  return settings;
}

bool names_user(std::string_view names, const std::string& user) {
  const auto words = split(names, ' ');
  return std::find(words.begin(), words.end(), user) != words.end();
}

}  // namespace

bool lingers(const std::string& root, const std::string& user_name) {
  if (user_name.empty() || user_name.find('/') != user_name.npos) return false;
  struct stat file {};
  return ::stat(joined(root, "var/lib/systemd/linger/" + user_name).c_str(), &file) == 0;
}

AtLogout at_logout(const LoginSurroundings& surroundings) {
  const std::string_view path = within_slice(
      surroundings.cgroups, fmt::format("/user.slice/user-{}.slice/", surroundings.user));
  if (path.starts_with(fmt::format("user@{}.service", surroundings.user)))
    return lingers(surroundings.root, surroundings.user_name) ? AtLogout::nothing
                                                              : AtLogout::ends_manager;
  if (!path.starts_with("session-")) return AtLogout::nothing;
  const LogindSettings settings = logind_settings(surroundings.root);
  const bool is_meant = settings.only.empty() || names_user(settings.only, surroundings.user_name);
  const bool is_killed = settings.kills.value_or(false) && is_meant &&
                         !names_user(settings.excluded, surroundings.user_name);
  return is_killed ? AtLogout::kills_session : AtLogout::nothing;
}

AtLogout at_own_logout() {
  return at_logout({read_small_file("/proc/self/cgroup"), ::geteuid(), login_name()});
}

std::string login_name() {
  const char* name = ::getenv("USER");
  return name == nullptr ? std::string() : name;
}

}  // namespace train
