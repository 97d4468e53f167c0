// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/posix/random.hpp"
#include "backends/registry/private_directory.hpp"

namespace train {

namespace {

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// The file has two lines: the signature of its owner, and the moment at which the owner last lived,
// which has a fixed length.
constexpr std::size_t signature_size = 17;  // 16 digits and a newline
constexpr std::size_t moment_size = 36 + 1 + 20 + 1;

std::optional<std::string> signature_in(int file) {
  std::array<char, signature_size> buffer{};
  const ssize_t count = ::pread(file, buffer.data(), buffer.size(), 0);
  if (count < 0) return std::nullopt;
  return std::string(buffer.data(), static_cast<std::size_t>(count));
}

std::string moment_line(const Moment& moment) {
  return fmt::format("{:<36} {:>20}\n", moment.boot_id, moment.since_boot.count());
}

// Leaves `moment` unchanged when the line does not have the format of `moment_line`.
void read_moment(std::string_view line, Moment& moment) {
  const std::size_t space = line.find(' ');
  const std::size_t digit = line.find_first_not_of(' ', space);
  if (line.size() != moment_size || space == 0 || digit == std::string_view::npos) return;
  Moment read{.boot_id = std::string(line.substr(0, space)), .wall = moment.wall};
  std::int64_t count = 0;
  constexpr std::int64_t most = std::int64_t{1} << 53;
  const char* const end = line.data() + line.size() - 1;
  const auto [stop, error] = std::from_chars(line.data() + digit, end, count);
  if (error != std::errc() || stop != end || *end != '\n' || count < -most || count > most) return;
  read.since_boot = std::chrono::milliseconds(count);
  moment = std::move(read);
}

bool lock_file(int file) {
  const struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

Result<TaskLock> TaskLock::create(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file)
    return fail(ErrorClass::no_input,
                fmt::format("cannot create '{}': {}", path, system_reason(errno)),
                elsewhere_hint());
  // No other process knows the file yet: this fails only on a file system without locks.
  if (!lock_file(file.get()))
    return fail(ErrorClass::no_input,
                fmt::format("cannot lock '{}': {}", path, system_reason(errno)), elsewhere_hint());
  TaskLock lock(std::move(file), path);
  lock.sign();
  lock.touch();
  return lock;
}

Result<TaskLock> TaskLock::adopt(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    return fail(ErrorClass::no_input,
                fmt::format("cannot open '{}': {}", path, system_reason(errno)));
  if (lock_file(file.get())) return TaskLock(std::move(file), path);
  if (errno == EAGAIN || errno == EACCES)
    return fail(ErrorClass::busy, fmt::format("another process holds '{}'", path));
  return fail(ErrorClass::no_input, fmt::format("cannot lock '{}': {}", path, system_reason(errno)),
              elsewhere_hint());
}

// If this fails, the last record and the logs still show when the supervisor lived. Without a
// signature before it, the line of the moment would be read as a signature.
void TaskLock::touch() {
  const bool is_signed = signature_.size() == signature_size;
  if (is_signed && write_whole_at(file_.get(), moment_line(this_moment()), signature_size) == 0)
    return;
  (void)futimens(file_.get(), nullptr);
}

// If the signature cannot be written (a full disk), the journal still tells the two supervisors
// apart.
void TaskLock::sign() {
  (void)write_whole_at(file_.get(), fmt::format("{:016x}\n", random_bits()), 0);
  signature_ = signature_in(file_.get()).value_or("");
}

bool TaskLock::is_owner() const {
  struct stat own {};
  struct stat named {};
  if (::fstat(file_.get(), &own) != 0 || ::stat(path_.c_str(), &named) != 0) return true;
  if (own.st_dev != named.st_dev || own.st_ino != named.st_ino) return false;
  const auto found = signature_in(file_.get());
  return !found || *found == signature_;
}

TaskLockState probe_task_lock(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ENOENT ? TaskLockState::gone : TaskLockState::unknown;
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0) return TaskLockState::unknown;
  return lock.l_type == F_UNLCK ? TaskLockState::gone : TaskLockState::alive;
}

Moment last_noted(const std::string& path) {
  Moment moment;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return moment;
  moment.wall = status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  std::array<char, moment_size + 1> buffer{};
  const ssize_t count =
      ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(signature_size));
  if (count > 0) read_moment({buffer.data(), static_cast<std::size_t>(count)}, moment);
  return moment;
}

Moment this_moment() {
  return {.boot_id = boot_id(),
          .since_boot = std::chrono::floor<milliseconds>(boot_time()),
          .wall = unix_time_ms()};
}

}  // namespace train
