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

/// Information from /proc about processes. A process may end at any moment: the results for one
/// that is gone are empty.

/// The processes whose parent is `pid` (of all its threads).
std::vector<int> children_of(int pid);
/// Whether the kernel lists children (CONFIG_PROC_CHILDREN). If not, each call of `children_of`
/// examines all processes.
bool are_children_listed();

/// The pids of all visible processes.
std::vector<int> all_processes();

/// The content of /proc/PID/stat.
struct ProcessStatus {
  char state = 0;  ///< 'Z' and 'X': it has ended
  int parent = 0;  ///< 0 for a process without one in this namespace
  int session = 0;
  std::uint64_t start = 0;   ///< clock ticks since boot; with the pid it identifies a process
  nanoseconds cpu{0};        ///< user and system time, with that of children it has waited for
  std::uint64_t memory = 0;  ///< resident bytes, including shared ones

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStatus> status_of(int pid);

/// The cgroup of a process in one hierarchy.
struct CgroupMembership {
  std::string_view
      hierarchy;          ///< its controllers ("cpu,cpuacct"), "name=NAME", or empty: version 2
  std::string_view path;  ///< "/a/b"
};
/// Parses `text`, the content of /proc/PID/cgroup, which must outlive the result.
std::vector<CgroupMembership> cgroups_in(std::string_view text);

/// The kernel's identifier of this boot of the machine.
std::string boot_id();

/// Milliseconds since the Unix epoch, by this machine's wall clock, which may be set.
std::int64_t unix_time_ms();

/// CPUs that this process may run on, at least 1.
int usable_cpus();
/// Bytes of RAM; 0: not known.
std::uint64_t total_memory();

/// Converts an instant of CLOCK_BOOTTIME to the clock ticks of /proc/PID/stat.
std::uint64_t clock_ticks(Instant instant);

/// How long the process has run; 0 when it is gone.
milliseconds age_of(int pid);

/// The parent's pid; 0 for a process without a parent in this namespace.
std::optional<int> parent_of(int pid);

/// The user that owns /proc/PID (root for setuid programs), which decides about signals.
std::optional<unsigned> owner_of(int pid);

/// The command line with spaces between its arguments, cut at 200 bytes and then `escaped`: for
/// display only. The kernel's short name in brackets if there is no command line.
std::string command_of(int pid);

/// The first 4096 bytes of the command line, raw: arguments terminated by NUL.
std::string words_of(int pid);

/// The kernel's short name, `escaped` and in brackets; never waits for the process.
std::string name_of(int pid);

/// The environment that the process started with, as NUL-terminated entries, at most 4 MiB; empty
/// if this user may not see it.
std::string environment_of(int pid);

/// The entries "NAME=VALUE" of such an environment, as views into it.
std::vector<std::string_view> environment_entries(std::string_view environment);

/// Whether `is_wanted` is true for one of the open files of the process. Gets the kernel's name of
/// each: a path ("/tmp/file", with " (deleted)" appended if it was deleted), or "pipe:[1234]".
/// Skips files that this user may not see.
bool has_open(int pid, const std::function<bool(std::string_view target)>& is_wanted);

/// The pipes that the process has open, by inode; none when this user may not see them.
std::set<std::uint64_t> pipes_of(int pid);

/// A pidfd of this process, which never refers to another one; empty when the process is gone.
Descriptor open_process(int pid);

/// Sends a signal through a descriptor of `open_process`; 0 or errno.
int send_signal(const Descriptor& process, int signal);

}  // namespace train
