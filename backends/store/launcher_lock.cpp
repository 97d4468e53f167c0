// SPDX-License-Identifier: Apache-2.0
#include "backends/store/launcher_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/posix/descriptor.hpp"
#include "backends/store/private_directory.hpp"

namespace train {

Result<LauncherLock> LauncherLock::create(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return fail(ErrorClass::no_input,
                fmt::format("cannot create '{}': {}", path, system_reason(errno)),
                elsewhere_hint());
  // Nobody else knows the file yet: this fails only on a file system without locks.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorClass::no_input,
                fmt::format("cannot lock '{}': {}", path, system_reason(errno)), elsewhere_hint());
  return LauncherLock(std::move(file));
}

// Where the file system refuses, the last record and the logs still tell when the launcher lived.
void LauncherLock::touch() { (void)futimens(file_.get(), nullptr); }

LauncherSign probe_launcher(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ENOENT ? LauncherSign::gone : LauncherSign::unknown;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) return LauncherSign::gone;
  return errno == EWOULDBLOCK ? LauncherSign::alive : LauncherSign::unknown;
}

}  // namespace train
