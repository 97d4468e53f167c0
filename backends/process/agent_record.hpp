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

/// What an agent writes down about itself and the ranks that it starts, for whoever has to end what
/// is left when agent and guard are killed together (sweep.hpp). It is the content of the agent's
/// lock file: while that can be locked, the agent is dead.
///
/// Lines of text: "boot ID", "namespace NAME", "agent PID START", "login TEXT", "cgroup PATH", and
/// "rank PID STARTED_BY PIPE PIPE #NUMBER" for each rank, of a trial but the first with ".TRIAL"
/// behind its number. Instants are in clock ticks since boot, as in /proc/PID/stat.
struct AgentRecord {
  /// A rank leads the session of its own number.
  struct Rank {
    int pid = 0;
    /// When it was there: a process of this number that began later is another one. (One that
    /// began earlier cannot be: it would have kept the rank from getting the number.)
    std::uint64_t started_by = 0;
    std::set<std::uint64_t> pipes = {};  ///< its output, by inode: who holds them is of its tree
    int number = -1;                     ///< of all ranks; -1: an agent from before wrote it
    int trial = 0;                       ///< whose rank it is

    bool operator==(const Rank&) const = default;
  };

  std::string boot_id;
  std::string pid_namespace;  ///< what the numbers of processes mean
  int agent = 0;
  std::uint64_t agent_start = 0;
  std::string login;   ///< what tells the login that it is part of from others, where there are any
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

/// Lines that make no sense are left out: a disk may have been full.
AgentRecord parse_agent_record(std::string_view text);
std::string to_text(const AgentRecord& record);
std::string to_text(const AgentRecord::Rank& rank);

/// Reads at most 4 MiB of an open file, from its beginning. Nothing when it is not a file of this
/// user that nobody else may write to.
AgentRecord read_agent_record(int file);

/// The agent's side: begins the record and makes the cgroup, then adds the ranks of all attempts.
/// Thread-safe.
class AgentRecorder {
 public:
  /// To be made by the agent's own process; others may use it then.
  AgentRecorder();

  /// Does nothing where it has begun already. Without a lock file (the agent has no guard, or
  /// somebody tidied it away) nothing is recorded. Class `host` when it cannot be written.
  Result<void> begin(const HostDirectory& directory, const std::string& key, RankCgroups cgroups);

  /// Makes a cgroup for the ranks of an attempt, in that of the agent, and opens its directory;
  /// nothing where there is none. Also removes those of attempts that are over.
  Descriptor make_cgroup_of(AttemptId attempt);
  /// Nothing of the attempt is left. Waits for no file.
  void forget(AttemptId attempt);
  /// A rank of a trial that was started, and its number; its end may have been collected.
  void add(const SpawnedProcess& rank, int trial, int number);

 private:
  const int agent_;
  std::mutex files_mutex_;  ///< is held while files are written: never asked for on a loop
  Descriptor file_;
  std::string cgroup_;            ///< of the agent; empty: there is none
  std::mutex attempts_mutex_;     ///< is held for a moment only
  std::set<AttemptId> attempts_;  ///< those that have one below it
};

}  // namespace train
