// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/posix/random.hpp"

namespace train {

namespace {

constexpr int safely = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
constexpr mode_t for_everybody = 0666;
constexpr mode_t for_readers = 0644;
constexpr int most_tries = 100;

std::string new_draft_name(const LeaseFolder& folder) {
  return fmt::format("{}{}{}-{:016x}", folder.prefix, draft_prefix, ::getuid(), random_bits());
}

// A file that gets its final name only when it is complete, so that no process finds it incomplete.
// A process that is killed before that leaves the draft.
class Draft {
 public:
  explicit Draft(const LeaseFolder& folder)
      : folder_(folder.folder.get()),
        name_(new_draft_name(folder)),
        file_(::openat(folder_, name_.c_str(), O_RDWR | O_CREAT | O_EXCL | safely, 0600)) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() { reset(); }

  explicit operator bool() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.get(); }
  // Returns 0 or errno: EEXIST if a file of that name exists.
  int link_as(const std::string& name, mode_t mode) {
    if (::fchmod(file_.get(), mode) != 0) return errno;
    return ::linkat(folder_, name_.c_str(), folder_, name.c_str(), 0) == 0 ? 0 : errno;
  }
  Descriptor take() {
    (void)::unlinkat(folder_, name_.c_str(), 0);
    return std::move(file_);
  }

 private:
  void reset() {
    const int why = errno;
    if (file_) (void)::unlinkat(folder_, name_.c_str(), 0);
    file_.reset();
    errno = why;
  }

  const int folder_;
  const std::string name_;
  Descriptor file_;
};

// The time of its last access stays, for cleaners of old files.
void set_never_touched(int file) {
  const struct timespec times[] = {{0, UTIME_OMIT}, {0, 0}};
  (void)::futimens(file, times);  // else memory of a GPU is asked about once in vain
}

// Opens without O_CREAT first: in a folder like /tmp the kernel refuses O_CREAT on existing files
// of other users (fs.protected_regular). Each step may find that another process was faster
// (EEXIST), or that another process of this user has removed the draft as a leftover (ENOENT).
Descriptor open_or_make(const LeaseFolder& folder, const std::string& path) {
  for (int left = most_tries; left > 0; --left) {
    Descriptor file(::openat(folder.folder.get(), path.c_str(), O_RDWR | safely));
    if (file || errno != ENOENT) return file;
    Draft draft(folder);
    if (!draft) return {};
    set_never_touched(draft.descriptor());
    const int why = draft.link_as(path, for_everybody);
    if (why == 0) return draft.take();
    errno = why;
    if (why != EEXIST && why != ENOENT) return {};
  }
  return {};
}

// Sets the mode of our own lock file: older versions set it only after creating the name, and may
// have been killed in between. Skips a file with several links, which may be a private file that
// another user has linked here, and a file of root in a folder where all may write, which may have
// been moved here.
void mend_own(const LeaseFolder& folder, int file) {
  struct stat status {};
  struct stat around {};
  if (::fstat(file, &status) != 0 || ::fstat(folder.folder.get(), &around) != 0) return;
  const bool is_of_root_among_all = status.st_uid == 0 && (around.st_mode & S_IWOTH) != 0;
  if (S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1 &&
      status.st_size == 0 && !is_of_root_among_all)
    (void)::fchmod(file, for_everybody);
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

namespace {

// For errors that other users can cause and that may pass.
tl::unexpected<Error> kept_out(std::string who) { return fail(ErrorClass::busy, std::move(who)); }

// Whether `why` is an errno of opening something that is not a file for all users. It may have been
// replaced by the time `squat_on` examines it.
bool is_due_to_squat(int why) {
  return why == EACCES || why == EISDIR || why == ENXIO || why == ELOOP || why == EINVAL ||
         why == EEXIST;
}

tl::unexpected<Error> made_no(const LeaseFolder& folder, const std::string& path, int why) {
  if (why == ENOSPC || why == EDQUOT)
    return kept_out(fmt::format("whoever has filled '{}' ({})", folder.path, system_reason(why)));
  return fail(ErrorClass::host,
              fmt::format("cannot hold slots: '{}/{}': {}", folder.path, path, system_reason(why)),
              "ask who administers the host, or hold nothing: --set leases=none");
}

}  // namespace

// Tries several times. If another user keeps replacing the file, the error is `busy`, so that a
// waiting task does not give up for good.
Result<LeaseFile> LeaseFile::open(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  int why = 0;
  for (int left = most_tries; left > 0; --left) {
    Descriptor file = open_or_make(folder, path);
    why = file ? EINVAL : errno;
    if (file && !is_for_all_to_lock(file.get())) mend_own(folder, file.get());
    if (file && is_for_all_to_lock(file.get())) return LeaseFile(path, std::move(file));
    if (const auto squat = squat_on(folder, name))
      return kept_out(squat->diagnostics.front().message);
    if (why == EAGAIN)  // its owner has a lease on it (F_SETLEASE)
      return kept_out(fmt::format("whoever keeps '{}/{}' for itself", folder.path, path));
    const bool may_write = ::faccessat(folder.folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (!is_due_to_squat(why) || !may_write) return made_no(folder, path, why);
  }
  return kept_out(
      fmt::format("whoever changes '{}/{}' ({})", folder.path, path, system_reason(why)));
}

Result<LeaseFile> LeaseFile::make_record(const LeaseFolder& folder, const std::string& stem,
                                         std::string_view text) {
  int why = 0;
  for (int left = most_tries; left > 0; --left) {
    Draft draft(folder);
    std::string path = fmt::format("{}{}-{:016x}", folder.prefix, stem, random_bits());
    // No other process can lock it first, because the name of the draft is random.
    const auto lock = lock_of(F_WRLCK, {0, 1});
    if (!draft || ::fcntl(draft.descriptor(), F_OFD_SETLK, &lock) != 0)
      why = errno;
    else if (why = write_whole_at(draft.descriptor(), text, 0); why == 0)
      why = draft.link_as(path, for_readers);
    if (why == 0) return LeaseFile(std::move(path), draft.take());
    if (why != EEXIST && why != ENOENT) break;
  }
  return made_no(folder, fmt::format("{}{}-...", folder.prefix, stem), why);
}

LeaseFile LeaseFile::look(const LeaseFolder& folder, const std::string& name) {
  const std::string path = folder.prefix + name;
  Descriptor file(::openat(folder.folder.get(), path.c_str(), O_RDONLY | safely));
  if (file && !is_regular(file.get())) file.reset();
  return LeaseFile(path, std::move(file));
}

// If several locks are in a range, the kernel reports any one of them; the ranges before and after
// it are queried again.
std::vector<LeaseRange> LeaseFile::held_by_others(std::uint64_t end, std::size_t most) const {
  std::vector<LeaseRange> held;
  std::vector<LeaseRange> unknown{{0, end}};
  while (!unknown.empty() && held.size() < most) {
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
  // Another process may have locked every other byte: ranges that were not queried count as held.
  held.insert(held.end(), unknown.begin(), unknown.end());
  return merged(std::move(held));
}

// Tests for a write lock: any user who may read the file can take a read lock, but only the file's
// owner can take a write lock.
bool LeaseFile::is_alive() const {
  struct flock lock = lock_of(F_RDLCK, {0, 1});
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
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

void LeaseFile::touch() const { (void)::futimens(file_.get(), nullptr); }

bool LeaseFile::was_touched_within(milliseconds time) const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return false;
  const std::int64_t touched_ms =
      std::int64_t{status.st_mtim.tv_sec} * 1'000 + status.st_mtim.tv_nsec / 1'000'000;
  return std::abs(unix_time_ms() - touched_ms) < time.count();
}

}  // namespace train
