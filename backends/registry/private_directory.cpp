// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/private_directory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/descriptor.hpp"

namespace train {
namespace {

constexpr mode_t private_mode = 0700;

tl::unexpected<Error> refused(const std::string& path, std::string_view why) {
  return fail(ErrorClass::no_input, fmt::format("cannot use '{}' for state: {}", path, why),
              elsewhere_hint());
}

/// Like mkdir -p. An existing file is no error: the caller checks what it is.
Result<void> make_with_parents(const std::string& path) {
  if (mkdir(path.c_str(), private_mode) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return could_not("make directory", path, errno);
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return could_not("make directory", path, ENOENT);
  if (auto parent = make_with_parents(path.substr(0, slash)); !parent) return parent;
  if (mkdir(path.c_str(), private_mode) == 0 || errno == EEXIST) return {};
  return could_not("make directory", path, errno);
}

}  // namespace

std::string elsewhere_hint() {
  return "set XDG_STATE_HOME to a directory of your own that can be written";
}

tl::unexpected<Error> could_not(std::string_view doing, const std::string& path, int error) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot {} '{}': {}", doing, path, system_reason(error)),
              elsewhere_hint());
}

Result<void> make_private_directory(const std::string& path) {
  if (path.empty() || path.front() != '/') return refused(path, "it is not an absolute path");
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return could_not("look at", path, errno);
    if (auto made = make_with_parents(path); !made) return made;
    if (lstat(path.c_str(), &status) != 0) return could_not("look at", path, errno);
  }
  if (S_ISLNK(status.st_mode)) return refused(path, "it is a symbolic link");
  if (!S_ISDIR(status.st_mode)) return refused(path, "it is not a directory");
  if (status.st_uid != geteuid())
    return refused(path, fmt::format("it belongs to user {}, not to you", status.st_uid));
  if ((status.st_mode & 077) != 0 && chmod(path.c_str(), private_mode) != 0)
    return could_not("make private", path, errno);
  return {};
}

}  // namespace train
