// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/open_files.hpp"

#include <algorithm>

namespace train {

std::optional<rlimit> raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  // Where this fails, the first descriptor that is one too many says so.
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
