// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// The process of a `Subreaper`: a child of this one, and this process's ends of the sockets that
/// it is spoken with by (subreaper_talk.hpp).
struct SubreaperProcess {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor talk;    ///< for records; when it is closed, the process kills all below it and ends
  Descriptor starts;  ///< for ranks that are to be started; blocks
  std::uint32_t attempt = 0;  ///< how many have had it before
};

/// What it exits with where it cannot do its work.
enum class SubreaperFailure {
  bug = 70,
  no_thread = 71,
  no_memory = 72,
  no_descriptor = 73,
};

/// Makes the process by fork(2). It dies with the thread that calls this. Class `host`.
Result<SubreaperProcess> start_subreaper_process();

}  // namespace train
