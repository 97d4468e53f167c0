// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/known_host_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "backends/posix/descriptor.hpp"

namespace train {

namespace {

constexpr mode_t owner_only = 0600;
constexpr mode_t owner_only_folder = 0700;

// Whether the last line of the file is not ended: ours would become a part of it.
bool lacks_line_end(int fd) {
  char last = '\n';
  const off_t size = ::lseek(fd, 0, SEEK_END);
  return size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

// One write, so that the line of another process does not come in between. 0 or errno.
int append(int fd, const std::string& text) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  const std::string whole = (lacks_line_end(fd) ? "\n" : "") + text + "\n";
  const ssize_t count = ::write(fd, whole.data(), whole.size());
  if (count < 0) return errno;
  return static_cast<std::size_t>(count) == whole.size() ? 0 : ENOSPC;
}

}  // namespace

Result<bool> append_known_host(const std::string& path, const std::string& line) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (!folder.empty()) (void)::mkdir(folder.c_str(), owner_only_folder);  // open tells what fails
  Descriptor file(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, owner_only));
  int error = file ? append(file.get(), line) : errno;
  if (file && ::close(file.release()) != 0 && error == 0) error = errno;
  if (error == 0) return true;
  return fail(ErrorClass::host,
              fmt::format("the host key cannot be added to {}: {}", path, std::strerror(error)),
              "make the file writable, or add the key yourself");
}

}  // namespace train
