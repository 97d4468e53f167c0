// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/process/cgroup.hpp"
#include "backends/process/host_directory.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/attempt_id.hpp"

namespace train {

/// What an agent records about itself and the ranks that it starts, so that a sweep can end the
/// processes that are left when agent and guard are killed together (sweep.hpp). It is the content
/// of the agent's lock file: if that can be locked, the agent is dead.
///
/// Lines of text: "boot ID", "namespace NAME", "agent PID START", "login TEXT", "cgroup PATH", and
/// "rank PID STARTED_BY PIPE PIPE #NUMBER" for each rank, with ".TRIAL" after its number unless it
/// is of the first trial. Instants are in clock ticks since boot, as in /proc/PID/stat.
struct AgentRecord {
  /// A rank is the leader of a session, whose number is its pid.
  struct Rank {
    int pid = 0;
    /// When the rank existed for certain: a process with this pid that started later is another
    /// one. (None can have started earlier and still live: the rank could not have got its pid.)
    std::uint64_t started_by = 0;
    std::set<std::uint64_t> pipes = {};  ///< its output pipes, by inode: their holders are its tree
    int number = -1;                     ///< the rank; -1: written by an older agent
    int trial = 0;                       ///< to which the rank belongs

    bool operator==(const Rank&) const = default;
  };

  std::string boot_id;
  std::string pid_namespace;  ///< in which the pids are valid
  int agent = 0;
  std::uint64_t agent_start = 0;
  std::string login;   ///< identifies its login session, where logins can be told apart
  std::string cgroup;  ///< of the ranks, absolute; empty: none
  std::vector<Rank> ranks;

  bool operator==(const AgentRecord&) const = default;
};

/// The record of this process, as an agent, without a cgroup and ranks.
AgentRecord record_of_this_process();
/// The same of another process of this namespace.
AgentRecord record_of(int pid);

/// What `AgentRecord::login` would be if this process were the agent.
std::string login_of_process(int pid);

/// Skips malformed lines: a disk may have been full.
AgentRecord parse_agent_record(std::string_view text);
std::string to_text(const AgentRecord& record);
std::string to_text(const AgentRecord::Rank& rank);

/// Reads at most 4 MiB of an open file, from its beginning. Returns an empty record unless it is a
/// regular file that belongs to this user and that no other user may write to.
AgentRecord read_agent_record(int file);

/// The agent's side: begins the record and makes the cgroup, then adds the ranks of all attempts.
/// Thread-safe.
class AgentRecorder {
 public:
  /// Construct it in the agent's own process, whose pid it records.
  AgentRecorder();

  /// Does nothing if it has begun already. Without a lock file (the agent has no guard, or a
  /// cleaner has removed the file) nothing is recorded. Class `host` when it cannot be written.
  Result<void> begin(const HostDirectory& directory, const std::string& key, RankCgroups cgroups);

  /// Makes a cgroup for the ranks of an attempt, inside the agent's, and opens its directory; an
  /// empty descriptor if the agent has none. Also removes the cgroups of attempts that are over.
  Descriptor make_cgroup_of(AttemptId attempt);
  /// Call it when nothing of the attempt is left. Does not touch files, so it may be called on a
  /// loop.
  void forget(AttemptId attempt);
  /// Records a started rank, `number`, of a trial; it may have ended and been reaped already.
  void add(const SpawnedProcess& rank, int trial, int number);

 private:
  const int agent_;
  std::mutex files_mutex_;  ///< held while files are written: never locked on a loop
  Descriptor file_;
  std::string cgroup_;            ///< of the agent; empty: there is none
  std::mutex attempts_mutex_;     ///< held for a moment only
  std::set<AttemptId> attempts_;  ///< those that have a cgroup below it
};

}  // namespace train
