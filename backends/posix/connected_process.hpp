// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// A child that this process talks to.
struct ConnectedProcess {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor stream;  ///< non-blocking socket to its standard input and output
  Descriptor errors;  ///< non-blocking read end of its standard error
};

/// What is to be executed.
struct ProgramCall {
  std::string program;                   ///< absolute path
  std::vector<std::string> arguments;    ///< its own name first
  std::vector<std::string> environment;  ///< "NAME=value"
  OnParentEnd on_parent_end = OnParentEnd::die;
  std::string next_step = {};  ///< for the user when it cannot be executed; may be empty
  /// An open file that is executed instead, close-on-exec and above standard error; `program` only
  /// names it then. -1: none.
  int program_file = -1;
};

/// Executes a program here in a session of its own, without a terminal, with default signals and no
/// descriptor but the standard ones. Errors are of class `missing` when it cannot be executed, else
/// `host`.
Result<ConnectedProcess> start_connected(const ProgramCall& call);

/// Kills its process group and collects it; one that hangs in the kernel for longer than 100 ms is
/// left to end by itself. It has no number any more then.
void end_connected(ConnectedProcess& process);

}  // namespace train
