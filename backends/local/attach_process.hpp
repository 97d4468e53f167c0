// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/error.hpp"

namespace train {

/// A process that speaks the agent's protocol on its standard input and output. The descriptors
/// are the caller's to close.
struct AttachProcess {
  int pid = -1;
  int pidfd = -1;
  int stream = -1;  ///< non-blocking socket to its standard input and output
  int errors = -1;  ///< non-blocking read end of its standard error
};

/// Executes `command` (absolute path first) in a session of its own, with default signals and no
/// other descriptor. Class `missing` when there is no such program.
Result<AttachProcess> start_attach_process(const std::vector<std::string>& command);

/// How an attach process ended, for a sentence: "exit status 3", "signal 9".
std::string describe_end(int wait_code, int wait_status);

}  // namespace train
