// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/disk_facts.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

// Falls back to a named file on file systems that do not support O_TMPFILE.
int open_new_file(const std::string& folder) {
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (nameless >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return nameless;
  std::string name = folder + "/.train-check-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) (void)::unlink(name.c_str());
  return file;
}

// Returns 0 or errno. Writes a byte, because a disk may have room for a new file but not for
// content.
int write_something(const std::string& folder) {
  const Descriptor file(open_new_file(folder));
  if (!file) return errno;
  return ::write(file.get(), "x", 1) == 1 ? 0 : errno;
}

}  // namespace

DiskFacts disk_facts(std::string use, std::string path) {
  DiskFacts disk{std::move(use), std::move(path)};
  struct statvfs status {};
  if (::statvfs(disk.path.c_str(), &status) != 0) {
    disk.trouble = system_reason(errno);
    return disk;
  }
  disk.size = std::uint64_t{status.f_blocks} * status.f_frsize;
  disk.free = std::uint64_t{status.f_bavail} * status.f_frsize;
  // btrfs and others do not count files.
  if (status.f_files > 0) disk.free_files = static_cast<std::int64_t>(status.f_favail);
  if (const int error = write_something(disk.path); error != 0 && error != ENOSPC)
    disk.trouble = system_reason(error);
  return disk;
}

}  // namespace train
