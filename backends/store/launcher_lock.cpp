// SPDX-License-Identifier: Apache-2.0
#include "backends/store/launcher_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/store/private_directory.hpp"

namespace train {

Result<LauncherLock> LauncherLock::create(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(ErrorClass::no_input, fmt::format("cannot create '{}': {}", path, strerror(errno)),
                elsewhere_hint());
  LauncherLock lock(fd);
  // Nobody knows the file yet: only a file system without locks fails here.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorClass::no_input, fmt::format("cannot lock '{}': {}", path, strerror(errno)),
                elsewhere_hint());
  return lock;
}

LauncherLock::LauncherLock(LauncherLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LauncherLock& LauncherLock::operator=(LauncherLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

LauncherLock::~LauncherLock() {
  if (fd_ >= 0) close(fd_);
}

// Where the file system does not want it, the last record and the logs tell when the launcher
// lived.
void LauncherLock::touch() { (void)futimens(fd_, nullptr); }

LauncherSign probe_launcher(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? LauncherSign::gone : LauncherSign::unknown;
  const int locked = flock(fd, LOCK_SH | LOCK_NB);
  const int error = errno;
  close(fd);
  if (locked == 0) return LauncherSign::gone;
  return error == EWOULDBLOCK ? LauncherSign::alive : LauncherSign::unknown;
}

}  // namespace train
