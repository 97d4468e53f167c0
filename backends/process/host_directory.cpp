// SPDX-License-Identifier: Apache-2.0
#include "backends/process/host_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace train {

namespace {

constexpr mode_t own_only = 0700;
constexpr mode_t own_file = 0600;
constexpr size_t longest_key = 64;
constexpr size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(ErrorClass::host, fmt::format("directory '{}' {}", path, why),
              fmt::format("remove '{}' on this host, or have its administrator do so", path));
}

// mkdir alone proves nothing: in /tmp anybody may have been first, with a link to somewhere.
Result<Descriptor> open_own(const std::string& path) {
  if (::mkdir(path.c_str(), own_only) != 0 && errno != EEXIST)
    return fail(ErrorClass::host,
                fmt::format("cannot make directory '{}': {}", path, system_reason(errno)),
                "train needs a writable /tmp on every host");
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0)
    return fail(ErrorClass::host, fmt::format("directory '{}': {}", path, system_reason(errno)));
  if (S_ISLNK(named.st_mode)) return refuse(path, "is a symbolic link");
  if (!S_ISDIR(named.st_mode)) return refuse(path, "is not a directory");
  if (named.st_uid != ::geteuid())
    return refuse(path, fmt::format("belongs to user {}", named.st_uid));
  if ((named.st_mode & 077) != 0)
    return refuse(
        path, fmt::format("is open to other users (mode {:04o}, not 0700)", named.st_mode & 07777));
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory)
    return fail(ErrorClass::host,
                fmt::format("cannot open directory '{}': {}", path, system_reason(errno)));
  struct stat opened {};
  if (::fstat(directory.get(), &opened) != 0 || opened.st_ino != named.st_ino ||
      opened.st_dev != named.st_dev)
    return refuse(path, "was exchanged while it was opened");
  return directory;
}

void note(Result<void>& first, Result<void> result) {
  if (first && !result) first = std::move(result);
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(ErrorClass::host, fmt::format("cannot remove '{}': {}", path, system_reason(errno)));
}

}  // namespace

Result<HostDirectory> HostDirectory::open(const std::string& base) {
  const std::string path = base.empty() ? fmt::format("/tmp/train-{}", ::geteuid()) : base;
  auto directory = open_own(path);
  if (!directory) return tl::make_unexpected(directory.error());
  auto moved = above_standard(std::move(*directory));
  if (!moved) return tl::make_unexpected(moved.error());
  // Cleaners ask for an exclusive lock and skip what they do not get. Where locks do not exist
  // there is nothing to hold, and age alone decides.
  (void)::flock(moved->get(), LOCK_SH | LOCK_NB);
  return HostDirectory(path, std::move(*moved));
}

Result<void> HostDirectory::check_key(const std::string& key) {
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
  });
  if (is_plain && !key.empty() && key.size() <= longest_key) return {};
  return fail(ErrorClass::usage, fmt::format("'{}' is no agent key", key),
              fmt::format("a key has 1 to {} letters, digits, '-' or '_'", longest_key));
}

Result<std::string> HostDirectory::socket_path(const std::string& key) const {
  std::string path = path_ + "/" + key + ".sock";
  if (path.size() <= longest_socket_path) return path;
  return fail(ErrorClass::host, fmt::format("socket path '{}' has {} bytes; the system allows {}",
                                            path, path.size(), longest_socket_path));
}

std::string HostDirectory::lock_path(const std::string& key) const {
  return path_ + "/" + key + ".lock";
}

std::string HostDirectory::run_directory(const std::string& key) const { return path_ + "/" + key; }

Result<std::string> HostDirectory::make_run_directory(const std::string& key) const {
  std::string path = run_directory(key);
  if (auto made = open_own(path); !made) return tl::make_unexpected(made.error());
  return path;
}

Result<void> HostDirectory::write_file(const std::string& key, const std::string& name,
                                       const std::string& text) const {
  const std::string path = run_directory(key) + "/" + name;
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own_file));
  int error = file ? 0 : errno;
  for (size_t written = 0; error == 0 && written < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
    if (count >= 0)
      written += static_cast<size_t>(count);
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0) return {};
  return fail(ErrorClass::host, fmt::format("cannot write '{}': {}", path, system_reason(error)),
              error == ENOSPC ? "make room on this file system" : "");
}

Result<void> HostDirectory::remove(const std::string& key) const {
  Result<void> first = check_key(key);
  if (!first) return first;  // an empty key would mean everybody's things
  if (auto socket = socket_path(key)) note(first, remove_file(*socket));
  std::error_code error;
  std::filesystem::remove_all(run_directory(key), error);
  if (error)
    note(first, fail(ErrorClass::host, fmt::format("cannot remove '{}': {}", run_directory(key),
                                                   system_reason(error.value()))));
  note(first, remove_file(lock_path(key)));
  return first;
}

}  // namespace train
