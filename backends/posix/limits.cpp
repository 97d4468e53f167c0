// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace train {

namespace {

constexpr rlim_t kib = 1024;
constexpr rlim_t usual_stack = 8192 * kib;

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

}  // namespace train
