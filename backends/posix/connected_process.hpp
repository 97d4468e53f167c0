// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// A child process, connected to this one by its standard streams.
struct ConnectedProcess {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor stream;  ///< non-blocking socket to its standard input and output
  Descriptor errors;  ///< non-blocking read end of its standard error
};

/// A program to execute.
struct ProgramCall {
  std::string program;                   ///< absolute path
  std::vector<std::string> arguments;    ///< with argv[0]
  std::vector<std::string> environment;  ///< "NAME=value"
  OnParentEnd on_parent_end = OnParentEnd::die;
  std::string next_step = {};  ///< for the user when it cannot be executed; may be empty
  /// An open file to execute instead of `program`, which is then only a name; close-on-exec and
  /// above standard error. -1: none.
  int program_file = -1;
};

/// Executes a program here in a session of its own, without a terminal, with default signals and
/// only the standard descriptors. Errors are of class `missing` when it cannot be executed, else
/// `host`.
Result<ConnectedProcess> start_connected(const ProgramCall& call);

/// Kills its process group and reaps it; a process that hangs in the kernel for longer than 100 ms
/// is left to end by itself. Sets `pid` to -1.
void end_connected(ConnectedProcess& process);

}  // namespace train
