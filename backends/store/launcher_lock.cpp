// SPDX-License-Identifier: Apache-2.0
#include "backends/store/launcher_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "backends/store/private_directory.hpp"

namespace train {

namespace {

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::optional<std::string> signature_in(int file) {
  char buffer[17];  // 16 digits and a newline
  const ssize_t count = ::pread(file, buffer, sizeof buffer, 0);
  if (count < 0) return std::nullopt;
  return std::string(buffer, static_cast<std::size_t>(count));
}

bool lock_file(int file) {
  const struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

Result<LauncherLock> LauncherLock::create(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return fail(ErrorClass::no_input,
                fmt::format("cannot create '{}': {}", path, system_reason(errno)),
                elsewhere_hint());
  // Nobody else knows the file yet: this fails only on a file system without locks.
  if (!lock_file(file.get()))
    return fail(ErrorClass::no_input,
                fmt::format("cannot lock '{}': {}", path, system_reason(errno)), elsewhere_hint());
  return LauncherLock(std::move(file), path);
}

Result<LauncherLock> LauncherLock::adopt(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    return fail(ErrorClass::no_input,
                fmt::format("cannot open '{}': {}", path, system_reason(errno)));
  if (lock_file(file.get())) return LauncherLock(std::move(file), path);
  if (errno == EAGAIN || errno == EACCES)
    return fail(ErrorClass::busy, fmt::format("another process holds '{}'", path));
  return fail(ErrorClass::no_input, fmt::format("cannot lock '{}': {}", path, system_reason(errno)),
              elsewhere_hint());
}

// Where the file system refuses, the last record and the logs still tell when the launcher lived.
void LauncherLock::touch() { (void)futimens(file_.get(), nullptr); }

// Where it cannot be written (a full disk), the journal still tells the two apart.
void LauncherLock::sign() {
  (void)write_whole_at(file_.get(), fmt::format("{:016x}\n", random_bits()), 0);
  signature_ = signature_in(file_.get()).value_or("");
}

bool LauncherLock::is_ours() const {
  struct stat own {};
  struct stat named {};
  if (::fstat(file_.get(), &own) != 0 || ::stat(path_.c_str(), &named) != 0) return true;
  if (own.st_dev != named.st_dev || own.st_ino != named.st_ino) return false;
  const auto found = signature_in(file_.get());
  return !found || *found == signature_;
}

LauncherSign probe_launcher(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ENOENT ? LauncherSign::gone : LauncherSign::unknown;
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0) return LauncherSign::unknown;
  return lock.l_type == F_UNLCK ? LauncherSign::gone : LauncherSign::alive;
}

}  // namespace train
