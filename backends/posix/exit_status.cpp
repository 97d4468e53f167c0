// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/exit_status.hpp"

#include <errno.h>
#include <sys/wait.h>

#include "backends/posix/descriptor.hpp"

namespace train {

Result<std::optional<ExitStatus>> reap(int pidfd, Instant now) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0) {
    if (errno == EINTR) continue;
    return fail(ErrorClass::bug, "cannot collect a process: " + system_reason(errno));
  }
  if (info.si_pid == 0) return std::nullopt;
  ExitStatus status;
  status.at = now;
  status.dumped_core = info.si_code == CLD_DUMPED;
  if (info.si_code == CLD_EXITED)
    status.code = info.si_status;
  else
    status.signal = info.si_status;
  return status;
}

}  // namespace train
