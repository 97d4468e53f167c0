// SPDX-License-Identifier: Apache-2.0
#include "backends/process/host_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "backends/process/state_folder.hpp"

namespace train {

namespace {

constexpr mode_t own_file = 0600;
constexpr size_t longest_key = 64;

void note(Result<void>& first, int error, const std::string& path) {
  if (error == 0 || error == ENOENT || !first) return;
  first = fail(ErrorClass::host, fmt::format("cannot remove '{}': {}", path, system_reason(error)));
}

std::string folder_of(const std::string& key, int trial) {
  if (trial == HostDirectory::shared) return key + "/tools";
  return trial == 0 ? key : fmt::format("{}/trial-{}", key, trial);
}

int unlink_file(int folder, const std::string& name) {
  return ::unlinkat(folder, name.c_str(), 0) == 0 ? 0 : errno;
}

}  // namespace

Result<HostDirectory> HostDirectory::find(const std::string& key,
                                          const std::vector<std::string>& places) {
  if (auto good = check_key(key); !good) return tl::make_unexpected(good.error());
  auto found = find_state_folder(places, key);
  if (!found) return tl::make_unexpected(found.error());
  return HostDirectory(std::move(found->path), std::move(found->descriptor));
}

Result<HostDirectory> HostDirectory::open(const std::string& path) {
  auto directory = make_own_folder(AT_FDCWD, path, path);
  if (!directory) return tl::make_unexpected(directory.error());
  // Cleaners of /tmp try an exclusive lock and skip a folder if they do not get it. On file systems
  // without locks, only the age of the files protects them.
  (void)::flock(directory->get(), LOCK_SH | LOCK_NB);
  return HostDirectory(path, std::move(*directory));
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

std::string HostDirectory::socket_path(const std::string& key) const {
  return path_ + "/" + socket_name(key);
}

std::string HostDirectory::lock_path(const std::string& key) const {
  return path_ + "/" + lock_name(key);
}

std::string HostDirectory::socket_address(const std::string& key) const {
  return fmt::format("/proc/self/fd/{}/{}", descriptor(), socket_name(key));
}

std::string HostDirectory::run_directory(const std::string& key, int trial) const {
  return path_ + "/" + folder_of(key, trial);
}

Result<std::string> HostDirectory::make_run_directory(const std::string& key, int trial) const {
  for (const int each : {0, trial})
    if (auto made = make_own_folder(descriptor(), folder_of(key, each), run_directory(key, each));
        !made)
      return tl::make_unexpected(made.error());
  return run_directory(key, trial);
}

Result<void> HostDirectory::write_file(const std::string& key, const std::string& name,
                                       const std::string& text, int trial) const {
  const std::string path = run_directory(key, trial) + "/" + name;
  const auto folder =
      open_own_folder(descriptor(), folder_of(key, trial), run_directory(key, trial));
  if (!folder) return tl::make_unexpected(folder.error());
  const Descriptor file(::openat(folder->get(), name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own_file));
  const int error = file ? write_whole(file.get(), text) : errno;
  if (error == 0) return {};
  return fail(ErrorClass::host, fmt::format("cannot write '{}': {}", path, system_reason(error)),
              error == ENOSPC ? "make room on this file system" : "");
}

Result<void> HostDirectory::link_file(const std::string& key, const std::string& name,
                                      const std::string& target, int trial) const {
  const auto folder =
      open_own_folder(descriptor(), folder_of(key, trial), run_directory(key, trial));
  if (!folder) return tl::make_unexpected(folder.error());
  if (::symlinkat(target.c_str(), folder->get(), name.c_str()) == 0) return {};
  return fail(ErrorClass::host, fmt::format("cannot make '{}/{}': {}", run_directory(key, trial),
                                            name, system_reason(errno)));
}

void HostDirectory::remove_file(const std::string& key, const std::string& name, int trial) const {
  if (const auto folder =
          open_own_folder(descriptor(), folder_of(key, trial), run_directory(key, trial)))
    (void)::unlinkat(folder->get(), name.c_str(), 0);
}

Result<void> HostDirectory::remove(const std::string& key) const {
  Result<void> first = check_key(key);
  if (!first) return first;  // an empty key would remove the files of all agents
  const std::atomic<bool> to_the_end{false};
  note(first, unlink_file(descriptor(), socket_name(key)), socket_path(key));
  note(first, remove_tree(descriptor(), key, to_the_end), run_directory(key));
  note(first, unlink_file(descriptor(), lock_name(key)), lock_path(key));
  return first;
}

}  // namespace train
