// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// A process that ended with a core dump.
struct DumpedProcess {
  int pid = 0;
  int signal = 0;
  std::string directory;  ///< its working directory when it was started
};

/// Where the core of this process is, as a text for the user: the file according to
/// /proc/sys/kernel/core_pattern (core(5)), if it exists, or the program that received the core,
/// and how to get the core from it. Reads a folder, which may take long.
std::string place_of_core(const DumpedProcess& process);
/// The same for this pattern; `uses_pid` is the kernel's core_uses_pid.
std::string place_of_core(const DumpedProcess& process, const std::string& pattern, bool uses_pid);

}  // namespace train
