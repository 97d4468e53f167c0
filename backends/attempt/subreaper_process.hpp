// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The process of a `Subreaper`, a child of this process, and our ends of the two sockets to it
/// (subreaper_talk.hpp).
struct SubreaperProcess {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor talk;    ///< for records; when it is closed, the process kills all below it and ends
  Descriptor starts;  ///< for ranks to start; blocks
  std::uint32_t attempt = 0;  ///< how many attempts have used the process before
};

/// The exit code of the process when it cannot do its work.
enum class SubreaperFailure {
  bug = 70,
  no_thread = 71,
  no_memory = 72,
  no_descriptor = 73,
};

/// Makes the process by fork(2). It dies with the thread that calls this. Class `host`.
Result<SubreaperProcess> start_subreaper_process();

}  // namespace train
