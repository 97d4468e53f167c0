// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A fully resolved program call.
struct ProcessSpec {
  std::string program;                   ///< absolute path
  std::vector<std::string> argv;         ///< argv[0] included
  std::vector<std::string> environment;  ///< NAME=value, the whole environment
  std::string working_directory;         ///< absolute
  /// CPUs that it may run on, ascending; empty: those of its starter.
  std::vector<int> cpus = {};
};

/// A started process, in a session (and process group) of its own. The caller closes the
/// descriptors.
struct SpawnedProcess {
  int pid = -1;
  int pidfd = -1;      ///< readable once the process has ended; -1: its end is detected elsewhere
  int stdout_fd = -1;  ///< read end, non-blocking
  int stderr_fd = -1;  ///< read end, non-blocking
  /// When it existed and could not have been collected yet: a process that began later is another
  /// one.
  Instant there_at{0};
};

/// Starts processes. A failure names the step ("chdir", "exec", ...) and the system's reason. It is
/// of class `missing` if something that the user named does not exist or cannot be executed.
class ProcessSpawner {
 public:
  virtual ~ProcessSpawner() = default;
  virtual Result<SpawnedProcess> spawn(const ProcessSpec& spec) = 0;
};

}  // namespace train
