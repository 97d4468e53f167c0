// SPDX-License-Identifier: Apache-2.0
#include "cli/request/user_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/child.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/user_account.hpp"
#include "config_schema/text/shell_words.hpp"

namespace train {

std::string user_file_path() {
  // The base directory specification ignores paths that are not absolute.
  const std::string base = variable("XDG_CONFIG_HOME");
  if (base.starts_with('/')) return base + "/train/config.yaml";
  const std::string home = home_directory();
  return home.empty() ? "" : home + "/.config/train/config.yaml";
}

Result<std::optional<UserFile>> read_user_file() {
  const std::string path = user_file_path();
  struct stat status {};
  if (path.empty() || ::stat(path.c_str(), &status) != 0) {
    if (path.empty() || errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return fail(ErrorClass::no_input,
                fmt::format("cannot read your file '{}': {}", path, system_reason(errno)),
                "mend the permissions of its directory");
  }
  constexpr mode_t for_others_to_write = S_IWGRP | S_IWOTH;
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fail(ErrorClass::config,
                fmt::format("'{}' belongs to user {}, and is not read", path, status.st_uid),
                "make it yours with chown, or remove it");
  if ((status.st_mode & for_others_to_write) != 0)
    return fail(ErrorClass::config,
                fmt::format("others can write '{}' (mode {:04o}), so it is not read", path,
                            status.st_mode & 07777),
                shell_line({"chmod", "go-w", path}));
  const auto text = read_input(path, "configuration");
  if (!text) return tl::make_unexpected(text.error());
  auto file = parse_user_file({path, *text});
  if (!file) return tl::make_unexpected(file.error());
  return std::optional(std::move(*file));
}

}  // namespace train
