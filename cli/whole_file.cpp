// SPDX-License-Identifier: Apache-2.0
#include "cli/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "backends/posix/files.hpp"

namespace train {

namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot write the file '{}': {}", path, system_reason(error)),
              error == ENOENT ? "give the path of a file in a directory that exists" : "");
}

// 0 or errno; closing may be what fails.
int write_and_close(Descriptor file, std::string_view text) {
  int error = write_whole(file.get(), text);
  if (error == 0 && ::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (::close(file.release()) != 0 && error == 0) error = errno;
  return error;
}

// Where a chain of symbolic links ends; the path itself when that cannot be told.
std::string target_of(const std::string& path) {
  std::error_code trouble;
  const auto target = std::filesystem::weakly_canonical(path, trouble);
  return trouble ? path : target.string();
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  if (path.empty()) return cannot_write(path, ENOENT);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    const int error = file ? write_and_close(std::move(file), text) : errno;
    if (error != 0) return cannot_write(path, error);
    return {};
  }
  const std::string target = target_of(path);
  const std::string beside = fmt::format("{}.{}.part", target, ::getpid());
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return cannot_write(path, errno);
  if (exists) ::fchmod(file.get(), status.st_mode & 07777);
  int error = write_and_close(std::move(file), text);
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return cannot_write(path, error);
}

}  // namespace train
