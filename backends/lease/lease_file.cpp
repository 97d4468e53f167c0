// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr int safely = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr mode_t for_everybody = 0666;
constexpr mode_t for_readers = 0644;
constexpr int most_tries = 100;
constexpr std::size_t most_pieces = 4'096;

// The kernel refuses O_CREAT on files of others in a folder like /tmp (fs.protected_regular), so it
// is not said of one that is there. Each step may find that another process was faster.
Descriptor open_or_make(int folder, const std::string& name) {
  for (int left = most_tries; left > 0; --left) {
    Descriptor file(::openat(folder, name.c_str(), O_RDWR | safely));
    if (!file && errno == EACCES && left > 1) {  // made in this moment, and not yet for everybody
      std::this_thread::sleep_for(1ms);
      continue;
    }
    if (file || errno != ENOENT) return file;
    file = Descriptor(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | safely, 0600));
    if (file && ::fchmod(file.get(), for_everybody) == 0) return file;
    if (errno != EEXIST) return {};
  }
  return {};
}

bool is_regular(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

struct flock lock_of(short type, const LeaseRange& range) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.begin);
  lock.l_len = static_cast<off_t>(range.end - range.begin);
  return lock;
}

}  // namespace

Result<LeaseFile> LeaseFile::open(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  Descriptor file = open_or_make(folder.folder.get(), path);
  if (file && is_regular(file.get())) return LeaseFile(path, std::move(file));
  const std::string why = file ? "it is no regular file" : system_reason(errno);
  return fail(ErrorClass::host,
              fmt::format("cannot hold slots: '{}/{}': {}", folder.path, path, why),
              "ask who administers the host to remove it, or hold nothing: --set leases=none");
}

Result<LeaseFile> LeaseFile::make_record(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  const int directory = folder.folder.get();
  (void)::unlinkat(directory, path.c_str(), 0);
  Descriptor file(::openat(directory, path.c_str(), O_RDWR | O_CREAT | O_EXCL | safely, 0600));
  if (file && ::fchmod(file.get(), for_readers) == 0) return LeaseFile(path, std::move(file));
  return fail(ErrorClass::host, fmt::format("cannot say in '{}/{}' who holds slots: {}",
                                            folder.path, path, system_reason(errno)));
}

LeaseFile LeaseFile::look(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  Descriptor file(::openat(folder.folder.get(), path.c_str(), O_RDONLY | safely));
  if (file && !is_regular(file.get())) file.reset();
  return LeaseFile(path, std::move(file));
}

// Of several locks in a range the kernel tells any; what is before and behind it is asked for anew.
std::vector<LeaseRange> LeaseFile::held_by_others(std::uint64_t end) const {
  std::vector<LeaseRange> held;
  std::vector<LeaseRange> unknown{{0, end}};
  while (!unknown.empty() && held.size() < most_pieces) {
    const LeaseRange range = unknown.back();
    unknown.pop_back();
    struct flock lock = lock_of(F_WRLCK, range);
    if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) continue;
    const auto begin = std::max(range.begin, static_cast<std::uint64_t>(lock.l_start));
    const auto size = static_cast<std::uint64_t>(lock.l_len);
    const std::uint64_t beyond =
        size == 0 ? range.end
                  : std::min(range.end, static_cast<std::uint64_t>(lock.l_start) + size);
    held.push_back({begin, beyond});
    if (begin > range.begin) unknown.push_back({range.begin, begin});
    if (beyond < range.end) unknown.push_back({beyond, range.end});
  }
  // Somebody may lock every other byte: what was not looked at counts as held.
  held.insert(held.end(), unknown.begin(), unknown.end());
  return merged(std::move(held));
}

bool LeaseFile::lock(const LeaseRange& range) {
  struct flock lock = lock_of(F_WRLCK, range);
  return ::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0;
}

void LeaseFile::unlock(const LeaseRange& range) {
  struct flock lock = lock_of(F_UNLCK, range);
  (void)::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

bool LeaseFile::is_in(const LeaseFolder& folder) const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(file_.get(), &ours) == 0 &&
         ::fstatat(folder.folder.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void LeaseFile::keep_young() const { (void)::futimens(file_.get(), nullptr); }

}  // namespace train
