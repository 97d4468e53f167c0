// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace train {

namespace {

constexpr rlim_t kib = 1024;
constexpr rlim_t usual_stack = 8192 * kib;

std::optional<rlimit>& core_limit_before() {
  static std::optional<rlimit> limit;
  return limit;
}

// `ulimit -s` of a shell lowers the hard limit as well. RLIM_INFINITY is the largest number.
std::string step_to_more_stack(const rlimit& limit) {
  if (limit.rlim_max >= least_stack)
    return fmt::format("raise the limit: ulimit -s {}",
                       std::min(limit.rlim_max, usual_stack) / kib);
  return "the hard limit is as low (ulimit -Hs): log in anew, or look for what sets it (start "
         "files of the shell, /etc/security/limits.conf)";
}

}  // namespace

Result<void> check_stack_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least_stack) return {};
  return fail(ErrorClass::host,
              fmt::format("the stack is limited to {} KiB (ulimit -s), too little for train, which "
                          "takes {} KiB",
                          limit.rlim_cur / kib, least_stack / kib),
              step_to_more_stack(limit));
}

// Does not use PR_SET_DUMPABLE: it would make root the owner of /proc/PID, where `task kill` of the
// same user looks for the launcher. A limit of one byte prevents a core file, and also a core to a
// pipe, which 0 does not (do_coredump of Linux). Skipped if the hard limit is 0, which only root
// can raise.
void leave_no_core() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
  if (limit.rlim_cur == 1 || limit.rlim_max == 0) return;
  core_limit_before() = limit;
  const rlimit least{1, limit.rlim_max};
  (void)::setrlimit(RLIMIT_CORE, &least);
}

const std::optional<rlimit>& core_limit_of_children() { return core_limit_before(); }

}  // namespace train
