// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/ports/clock.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What a record of the kernel's log says about a process that was killed for lack of memory.
struct KernelMemoryKill {
  int pid = 0;  ///< in the kernel's own process namespace
  std::string name;
  bool is_of_cgroup = false;    ///< true: a cgroup's limit was reached; false: the host's memory
  std::string limiting_cgroup;  ///< "/a/b"; empty: not recorded
  Instant at{0};                ///< since the host was started

  bool operator==(const KernelMemoryKill&) const = default;
};

/// Parses a record of /dev/kmsg: "6,339,5140900,-;oom-kill:constraint=..." (Linux 5.0 and later),
/// or "Killed process" (earlier). `nullopt` for any other record.
std::optional<KernelMemoryKill> memory_kill_in(std::string_view record);

/// The files in which a host records such kills; tests use files of their own.
struct MemoryKillPlaces {
  std::string kernel_log = "/dev/kmsg";
  std::string cgroups = "/sys/fs/cgroup";                ///< version 2
  std::string memory_cgroups = "/sys/fs/cgroup/memory";  ///< version 1
  bool has_host_pids = true;  ///< pids here are the same as in the kernel's log
};

/// Finds out whether the kernel has killed ranks of one attempt for lack of memory: from its log if
/// that may be read, which names the processes, else from the counters of their cgroup. Each call
/// reads some small files of the kernel. To be used from one thread at a time.
class MemoryKills {
 public:
  /// `cgroup` is the directory of the ranks' cgroup of version 2; empty: they are in that of this
  /// process. Only later kills are reported.
  explicit MemoryKills(std::string cgroup, MemoryKillPlaces places = {});

  /// The memory kill that ended this rank, if there was one. Call it once for each rank that was
  /// ended by SIGKILL.
  std::optional<message::MemoryKill> kill_of(int pid);
  /// The same for a process below a rank, when the exit code of the rank reports its SIGKILL.
  std::optional<message::MemoryKill> kill_below();

 private:
  /// A cgroup of the ranks, or one around it.
  struct Level {
    std::string directory;
    std::uint64_t kills = 0;
    std::uint64_t hits = 0;  ///< how often its limit was reached
  };
  std::optional<KernelMemoryKill> logged_kill(int pid) const;
  std::optional<message::MemoryKill> counted_kill();
  Level read(const std::string& directory) const;
  std::string limit_of(const std::string& directory) const;
  std::string limit_of(const KernelMemoryKill& kill) const;

  MemoryKillPlaces places_;
  Instant since_;
  bool is_first_version_ = false;
  std::vector<Level> levels_;  ///< innermost first
};

/// The places of this host.
MemoryKillPlaces memory_kill_places();

}  // namespace train
