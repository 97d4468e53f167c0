// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// A process that ended with a core dump.
struct DumpedProcess {
  int pid = 0;
  int signal = 0;
  std::string directory;  ///< its working directory, as it was started
};

/// Where the core is that this process left, in words for the user: the file that
/// /proc/sys/kernel/core_pattern (core(5)) leads to, if it is there, or the program that got the
/// core, and how that is asked for it. Reads a folder, so it may take as long as that.
std::string place_of_core(const DumpedProcess& process);
/// The same by this pattern; `uses_pid` is the kernel's core_uses_pid.
std::string place_of_core(const DumpedProcess& process, const std::string& pattern, bool uses_pid);

}  // namespace train
