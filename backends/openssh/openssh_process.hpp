// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backends/process/descriptor.hpp"

namespace train {

/// A running ssh.
struct OpensshProcess {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor stream;  ///< non-blocking socket to its standard input and output
  Descriptor errors;  ///< non-blocking read end of its standard error
};

/// Executes `program` (an absolute path) in a session of its own, without a terminal, with this
/// environment and no descriptor but the standard ones. The kernel kills it when this thread ends.
/// Errors are of class `missing` when it cannot be executed, else `host`.
Result<OpensshProcess> start_openssh(const std::string& program,
                                     const std::vector<std::string>& arguments,
                                     const std::vector<std::string>& environment);

}  // namespace train
