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

/// What a record of the kernel's log says of a process that was killed for want of memory.
struct KernelMemoryKill {
  int pid = 0;  ///< in the kernel's own process namespace
  std::string name;
  bool is_of_cgroup = false;    ///< its limit was used up, else the host's memory
  std::string limiting_cgroup;  ///< "/a/b"; empty: not said
  Instant at{0};                ///< since the host was started

  bool operator==(const KernelMemoryKill&) const = default;
};

/// Reads a record as /dev/kmsg has it: "6,339,5140900,-;oom-kill:constraint=..." of Linux 5.0 and
/// later, or the "Killed process" of earlier ones. Nothing when it is about something else.
std::optional<KernelMemoryKill> memory_kill_in(std::string_view record);

/// Where a host tells of such kills; a test has files of its own.
struct MemoryKillPlaces {
  std::string kernel_log = "/dev/kmsg";
  std::string cgroups = "/sys/fs/cgroup";                ///< version 2
  std::string memory_cgroups = "/sys/fs/cgroup/memory";  ///< version 1
  bool has_host_pids = true;  ///< processes have the numbers that the kernel's log has
};

/// Whether the kernel has killed ranks of one attempt for want of memory: by its log where that may
/// be read, which names them, else by the counts of the cgroup that they are in. Each call takes as
/// long as some small files of the kernel take to be read. Used from one thread at a time.
class MemoryKills {
 public:
  /// `cgroup` is the directory of the ranks' cgroup of version 2; empty: they are in that of this
  /// process. Counts begin here.
  explicit MemoryKills(std::string cgroup, MemoryKillPlaces places = {});

  /// Why this rank was killed, if by the kernel; asked once for each rank that SIGKILL has ended.
  std::optional<message::MemoryKill> kill_of(int pid);
  /// The same of a process below a rank, which says so by its exit code.
  std::optional<message::MemoryKill> kill_below();

 private:
  /// A cgroup of the ranks, or one around it.
  struct Level {
    std::string directory;
    std::uint64_t kills = 0;
    std::uint64_t hits = 0;  ///< of its limit
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
