// SPDX-License-Identifier: Apache-2.0
#include "backends/results/file_identity.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace train {

namespace {

std::string words_of(const struct statx& status, const struct statx_timestamp& time) {
  return fmt::format("{}/{}.{}", status.stx_ino, time.tv_sec, time.tv_nsec);
}

}  // namespace

// The device number is left out: each machine numbers network file systems by itself.
get_talk::Identity identity_of(int folder, const std::string& name) {
  struct statx status {};
  constexpr unsigned wanted = STATX_INO | STATX_BTIME | STATX_CTIME;
  if (::statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, wanted, &status) != 0)
    return {};
  get_talk::Identity identity;
  const bool has_number = (status.stx_mask & STATX_INO) != 0;
  if (has_number && (status.stx_mask & STATX_CTIME) != 0)
    identity.changed = words_of(status, status.stx_ctime);
  if (has_number && (status.stx_mask & STATX_BTIME) != 0 && status.stx_btime.tv_sec != 0)
    identity.born = words_of(status, status.stx_btime);
  return identity;
}

}  // namespace train
