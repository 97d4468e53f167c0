// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/descriptor.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace train {

namespace {

constexpr int first_above_standard = 3;
// Only kernels before 5.9 need the loop over single descriptors; few processes have more open.
constexpr int last_walked = 65536;

bool close_range_of(unsigned first, unsigned last) {
  return first > last || ::syscall(SYS_close_range, first, last, 0u) == 0;
}

int highest_possible() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return last_walked;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, last_walked));
}

// The smallest kept descriptor that is at least `from`, or -1.
int next_kept(std::initializer_list<int> keep, int from) {
  int found = -1;
  for (const int fd : keep)
    if (fd >= from && (found < 0 || fd < found)) found = fd;
  return found;
}

}  // namespace

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

std::string system_reason(int error) {
  const char* words = ::strerrordesc_np(error);
  if (words == nullptr) return "error " + std::to_string(error);
  std::string reason = words;
  // "Permission denied" becomes lower case, to stand inside a sentence; "RPC error" keeps its
  // capitals.
  const bool is_acronym = reason.size() > 1 && std::isupper(static_cast<unsigned char>(reason[1]));
  if (!is_acronym)
    reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
  return reason;
}

Result<Descriptor> above_standard(Descriptor descriptor) {
  if (descriptor.get() >= first_above_standard) return descriptor;
  Descriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, first_above_standard));
  if (!moved) return fail(ErrorClass::host, "cannot move a descriptor: " + system_reason(errno));
  return moved;
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorClass::host, "cannot make a pipe: " + system_reason(errno),
                "raise the limit of open files (ulimit -n) on this host");
  Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  auto read_moved = above_standard(std::move(read_end));
  if (!read_moved) return tl::make_unexpected(read_moved.error());
  auto write_moved = above_standard(std::move(write_end));
  if (!write_moved) return tl::make_unexpected(write_moved.error());
  return Pipe{std::move(*read_moved), std::move(*write_moved)};
}

Result<Descriptor> open_null() {
  Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail(ErrorClass::host, "cannot open /dev/null: " + system_reason(errno));
  return above_standard(std::move(null));
}

void open_closed_standard_streams() {
  while (true) {
    const int lowest = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (lowest < 0) return;
    if (lowest > STDERR_FILENO) {
      ::close(lowest);
      return;
    }
    // The standard streams are inherited, unlike all other descriptors.
    ::fcntl(lowest, F_SETFD, 0);
  }
}

void close_others(std::initializer_list<int> keep) {
  int from = first_above_standard;
  while (true) {
    const int kept = next_kept(keep, from);
    const unsigned last = kept < 0 ? ~0u : static_cast<unsigned>(kept) - 1;
    if (!close_range_of(static_cast<unsigned>(from), last)) {
      const int end = kept < 0 ? highest_possible() : kept;
      // Not `close`, which a sanitizer would record in memory shared with a parent.
      for (int fd = from; fd < end; ++fd) ::syscall(SYS_close, fd);
    }
    if (kept < 0) return;
    from = kept + 1;
  }
}

std::optional<rlimit> raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  // A failure is ignored: the first descriptor above the limit reports it.
  set_open_files_limit(limit.rlim_max);
  return limit;
}

void set_open_files_limit(rlim_t soft) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace train
