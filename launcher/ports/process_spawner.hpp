// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What is executed, with nothing left to look up.
struct ProcessSpec {
  std::string program;                   ///< absolute path
  std::vector<std::string> argv;         ///< argv[0] included
  std::vector<std::string> environment;  ///< NAME=value, the whole environment
  std::string working_directory;         ///< absolute
  std::vector<int> cpus = {};            ///< that it may run on, ascending; empty: its starter's
};

/// A process that was started, in a session (and process group) of its own. The descriptors are
/// the caller's to close.
struct SpawnedProcess {
  int pid = -1;
  int pidfd = -1;      ///< readable once the process has ended; -1: others look for its end
  int stdout_fd = -1;  ///< read end, non-blocking
  int stderr_fd = -1;  ///< read end, non-blocking
  /// When it was there and nobody could have collected it yet: what began later is another process.
  Instant there_at{0};
};

/// Starts processes; a failure names the step ("chdir", "exec", ...) and the system's reason, and
/// is of class `missing` when something named by the user is not there or cannot be executed.
class ProcessSpawner {
 public:
  virtual ~ProcessSpawner() = default;
  virtual Result<SpawnedProcess> spawn(const ProcessSpec& spec) = 0;
};

}  // namespace train
