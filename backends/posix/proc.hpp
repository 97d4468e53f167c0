// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What /proc says of processes. A process may end at any moment: every answer about one that is
/// gone is empty.

/// The processes whose parent is `pid` (whichever of its threads made them).
std::vector<int> children_of(int pid);
/// Whether the kernel lists them. Else each question looks at all processes: kernels may be built
/// without CONFIG_PROC_CHILDREN.
bool are_children_listed();

/// The numbers of all processes that can be seen.
std::vector<int> all_processes();

/// What /proc/PID/stat says.
struct ProcessStatus {
  char state = 0;  ///< 'Z' and 'X': it has ended
  int parent = 0;  ///< 0 for a process without one in this namespace
  int session = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot: with its number, what tells it from others
  nanoseconds cpu{0};  ///< of the user and the system, with that of children that it has waited for
  std::uint64_t memory = 0;  ///< bytes that it has there, shared ones included

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStatus> status_of(int pid);

/// Where a process is in one hierarchy of cgroups.
struct CgroupMembership {
  std::string_view
      hierarchy;          ///< its controllers ("cpu,cpuacct"), "name=NAME", or empty: version 2
  std::string_view path;  ///< "/a/b"
};
/// The lines of /proc/PID/cgroup, which `text` is and must outlive them.
std::vector<CgroupMembership> cgroups_in(std::string_view text);

/// What this start of the machine is called, by the kernel.
std::string boot_id();

/// Milliseconds since the Unix epoch, by this machine's wall clock, which may be set.
std::int64_t unix_time_ms();

/// CPUs that this process may run on, at least 1.
int usable_cpus();
/// Bytes of RAM; 0: not known.
std::uint64_t total_memory();

/// An instant of CLOCK_BOOTTIME as /proc/PID/stat has it.
std::uint64_t clock_ticks(Instant instant);

/// For how long the process has run; 0 when it is gone.
milliseconds age_of(int pid);

/// The parent's number; 0 for a process without one in this namespace.
std::optional<int> parent_of(int pid);

/// The user that owns the process, as the kernel judges signals (root's for setuid programs).
std::optional<unsigned> owner_of(int pid);

/// The command line with spaces between its arguments, cut at 200 bytes and then `escaped`: to be
/// read, not pasted. The kernel's short name in brackets when it has none.
std::string command_of(int pid);

/// The beginning of the command line as it is: arguments, each with a NUL behind it.
std::string words_of(int pid);

/// The kernel's short name, `escaped` and in brackets; never waits for the process.
std::string name_of(int pid);

/// The environment that the process started with, NUL-terminated entries, at most 4 MiB; empty when
/// this user may not see it.
std::string environment_of(int pid);

/// Of such an environment, NAME=VALUE each, where it is.
std::vector<std::string_view> environment_entries(std::string_view environment);

/// Whether one of what the process has open is wanted, by the name that the kernel gives it: a path
/// ("/tmp/file", " (deleted)" behind it where that is so), "pipe:[1234]". What this user may not
/// see is not.
bool has_open(int pid, const std::function<bool(std::string_view target)>& is_wanted);

/// The pipes that the process has open, by inode; none when this user may not see them.
std::set<std::uint64_t> pipes_of(int pid);

/// A descriptor of this process, which never means another one; none when it is gone.
Descriptor open_process(int pid);

/// Sends a signal through a descriptor of `open_process`; 0 or errno.
int send_signal(const Descriptor& process, int signal);

}  // namespace train
