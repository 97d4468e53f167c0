// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/sweep.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

// One look at /proc can miss a process that is being forked, or that is executing a program and has
// no environment for a moment. When two looks in a row find nothing, nothing is left.
constexpr int needed_quiet_looks = 2;
// How long killed processes have to end before the next look.
constexpr int round_milliseconds = 20;
constexpr nanoseconds sweep_kill_limit = 5s;
constexpr nanoseconds cgroup_limit = 1s;
constexpr int retry_milliseconds = 5;
// For all dead agents together: the start of a new agent waits for this.
constexpr nanoseconds all_limit = 5s;
constexpr int most_agents = 256;
// A lock file without a record belongs to an agent that is just being started, or to one that was
// killed before it had started anything.
constexpr std::chrono::seconds start_limit = 60s;
// For agents of a container that shares the directory with us: the container may come back and
// sweep by itself.
constexpr std::chrono::seconds foreign_limit = 24h;

// True for the entry itself and for a path below it, such as the run directory of a later trial.
bool has_entry(std::string_view environment, const std::string& entry) {
  const auto entries = environment_entries(environment);
  return std::any_of(entries.begin(), entries.end(), [&](std::string_view found) {
    return found == entry || found.starts_with(entry + "/");
  });
}

bool holds_any(const std::vector<int>& pids, const std::set<int>& wanted) {
  return std::any_of(pids.begin(), pids.end(), [&](int pid) { return wanted.contains(pid); });
}

// Finds, kills and counts the processes of a dead agent.
class ProcessSweep {
 public:
  ProcessSweep(const AgentRecord& record, const std::string& key, const std::string& mark)
      : record_(record), mark_(mark), user_(::geteuid()) {
    for (int pid = ::getpid(); pid > 0 && spared_.insert(pid).second;)
      pid = parent_of(pid).value_or(0);
    spared_.insert(1);
    if (!record.cgroup.empty() && is_cgroup_of(record.cgroup, cgroup_name(key, record.agent)))
      cgroup_ = record.cgroup;
    holds_us_ = !cgroup_.empty() && holds_any(processes_in_cgroup(cgroup_), spared_);
    for (const AgentRecord::Rank& rank : record.ranks) {
      ranks_[rank.pid] = rank.started_by;
      pipes_.insert(rank.pipes.begin(), rank.pipes.end());
    }
  }

  void run(nanoseconds limit) {
    const auto deadline = Steady::now() + limit;
    for (int quiet = 0; quiet < needed_quiet_looks; quiet = look() ? 0 : quiet + 1)
      if (Steady::now() >= deadline) break;
    if (!cgroup_.empty()) (void)remove_cgroup(cgroup_, cgroup_limit);
  }

  Sweep result() const {
    Sweep sweep;
    for (const auto& [process, error] : known_) {
      const auto status = status_of(process.first);
      const bool is_alive = status && !status->has_ended() && status->start == process.second;
      if (is_alive)
        sweep.survivors.push_back(describe(process.first));
      else if (error == 0)
        ++sweep.ended;
    }
    return sweep;
  }

 private:
  using Process = std::pair<int, std::uint64_t>;  ///< number and start

  // Goes through all processes once and kills those of the dead agent; false when none was alive.
  bool look() {
    std::map<int, ProcessStatus> all;
    for (const int pid : all_processes())
      if (auto status = status_of(pid); status && !status->has_ended()) all[pid] = *status;
    std::map<Process, Descriptor> found;
    for (const int pid : find(all)) {
      Descriptor process = open_process(pid);
      // The number may have been given to another process since its status was read.
      const auto status = status_of(pid);
      if (process && status && status->start == all[pid].start)
        found[{pid, status->start}] = std::move(process);
    }
    if (!cgroup_.empty() && !holds_us_) kill_cgroup(cgroup_);
    bool is_any_dying = false;
    for (const auto& [process, descriptor] : found) {
      const int error = send_signal(descriptor, SIGKILL);
      known_.insert({process, error == ESRCH ? 0 : error});  // gone already with its cgroup
      is_any_dying = is_any_dying || error != EPERM;
    }
    await_end(found);
    return is_any_dying;
  }

  // The whole tree is listed before the first signal: when a process ends, its children get another
  // parent and are not found below it any more.
  std::set<int> find(const std::map<int, ProcessStatus>& all) {
    std::set<int> found;
    if (!cgroup_.empty())
      for (const int pid : processes_in_cgroup(cgroup_))
        if (all.contains(pid) && !spared_.contains(pid)) found.insert(pid);
    for (const auto& [pid, status] : all)
      if (may_be_ours(pid, status) && (is_in_session(pid, status, all) || is_marked(pid)))
        found.insert(pid);
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [pid, status] : all)
        if (found.contains(status.parent) && may_be_ours(pid, status))
          grows = found.insert(pid).second || grows;
    }
    return found;
  }

  bool may_be_ours(int pid, const ProcessStatus& status) const {
    if (spared_.contains(pid) || status.start < record_.agent_start) return false;
    const auto owner = owner_of(pid);
    return owner && (user_ == 0 || *owner == user_);
  }

  // The kernel does not reuse the number of a session that still has processes. Once the session of
  // a rank is over, its number may belong to another session, whose leader started later; if that
  // leader has ended too, the login session tells the two apart.
  bool is_in_session(int pid, const ProcessStatus& status,
                     const std::map<int, ProcessStatus>& all) const {
    const auto rank = ranks_.find(status.session);
    if (rank == ranks_.end()) return false;
    const auto leader = all.find(rank->first);
    if (leader != all.end()) return leader->second.start <= rank->second;
    return login_of_process(pid) == record_.login;
  }

  bool is_marked(int pid) const {
    if (has_entry(environment_of(pid), mark_)) return true;
    if (pipes_.empty()) return false;
    const std::set<std::uint64_t> open = pipes_of(pid);
    return std::any_of(open.begin(), open.end(),
                       [&](std::uint64_t pipe) { return pipes_.contains(pipe); });
  }

  static void await_end(const std::map<Process, Descriptor>& processes) {
    const auto deadline = Steady::now() + std::chrono::milliseconds(round_milliseconds);
    for (const auto& [process, descriptor] : processes) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
      if (left.count() <= 0) return;
      pollfd ended{descriptor.get(), POLLIN, 0};
      (void)::poll(&ended, 1, static_cast<int>(left.count()));
    }
  }

  const AgentRecord& record_;
  const std::string& mark_;
  const unsigned user_;
  std::string cgroup_;
  bool holds_us_ = false;               ///< the cgroup contains this process or an ancestor
  std::set<int> spared_;                ///< this process and its ancestors
  std::map<int, std::uint64_t> ranks_;  ///< `started_by` of the session leaders, by pid
  std::set<std::uint64_t> pipes_;
  std::map<Process, int> known_;  ///< result of the first signal: 0 or errno
};

// The environment variable that marks the ranks of this agent; those of other agents, even of the
// same task, have another value.
std::string mark_of(const HostDirectory& directory, const std::string& key) {
  return "TRAIN_RUN_DIR=" + directory.run_directory(key);
}

Descriptor open_lock(const HostDirectory& directory, const std::string& key) {
  return Descriptor(::openat(directory.descriptor(), HostDirectory::lock_name(key).c_str(),
                             O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

std::chrono::seconds age_of(const struct stat& file) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::chrono::seconds(now.tv_sec - file.st_mtim.tv_sec);
}

// False if a guard has removed the file before it was locked: then the lock guards nothing.
bool is_named(int lock, const HostDirectory& directory, const std::string& key) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(lock, &opened) == 0 &&
         ::fstatat(directory.descriptor(), HostDirectory::lock_name(key).c_str(), &named,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Whether the record comes from another process namespace: its pids name other processes here, or
// none.
bool is_foreign(const AgentRecord& record) {
  const AgentRecord ours = record_of_this_process();
  return record.boot_id == ours.boot_id && record.pid_namespace != ours.pid_namespace;
}

bool lives(const AgentRecord& record) {
  const auto status = record.agent > 0 ? status_of(record.agent) : std::nullopt;
  return status && !status->has_ended() && status->start == record.agent_start &&
         !is_foreign(record);
}

// If each login has a /tmp of its own, a missing lock file does not prove that the agent has ended.
// So this looks for a process with the agent's command line that has the lock file open: agent and
// guard keep it open for as long as they live, and remove it before they end.
bool runs_elsewhere(const std::string& key) {
  const std::string words = fmt::format("agent{0}attach{0}{1}{0}", '\0', key);
  const std::string lock = "/" + HostDirectory::lock_name(key);
  const std::vector<int> all = all_processes();
  return std::any_of(all.begin(), all.end(), [&](int pid) {
    return words_of(pid).find(words) != std::string::npos &&
           has_open(pid, [&](std::string_view target) { return target.ends_with(lock); });
  });
}

// Takes the lock of this agent if the agent is dead; an empty descriptor if it lives.
Descriptor lock_of_dead(const HostDirectory& directory, const std::string& key) {
  Descriptor lock = open_lock(directory, key);
  struct stat file {};
  if (!lock || ::fstat(lock.get(), &file) != 0 || !S_ISREG(file.st_mode)) return {};
  if (file.st_size == 0 && age_of(file) < start_limit) return {};
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};
  if (!is_named(lock.get(), directory, key)) return {};
  if (is_foreign(read_agent_record(lock.get())) && age_of(file) < foreign_limit) return {};
  return lock;
}

std::vector<std::string> keys_in(const HostDirectory& directory) {
  constexpr std::string_view ending = ".lock";
  std::vector<std::string> keys;
  FolderReader files(directory.descriptor());
  while (const char* entry = files ? files.next() : nullptr) {
    const std::string_view name = entry;
    if (!name.ends_with(ending)) continue;
    std::string key(name.substr(0, name.size() - ending.size()));
    if (HostDirectory::check_key(key) && keys.size() < most_agents) keys.push_back(std::move(key));
  }
  return keys;
}

// The lock file stays, locked and empty.
Sweep sweep_under_lock(const HostDirectory& directory, const std::string& key, int lock) {
  const AgentRecord record = read_agent_record(lock);
  Sweep sweep = end_processes_of(record, key, mark_of(directory, key), sweep_kill_limit);
  (void)::ftruncate(lock, 0);
  return sweep;
}

}  // namespace

Sweep end_processes_of(const AgentRecord& record, const std::string& key, const std::string& mark,
                       nanoseconds limit) {
  // Without a record, the mark alone identifies the processes.
  const bool is_old = !record.boot_id.empty() && record.boot_id != record_of_this_process().boot_id;
  if (is_old || is_foreign(record)) return {};
  ProcessSweep sweep(record, key, mark);
  sweep.run(limit);
  return sweep.result();
}

Result<Sweep> sweep_agent(const HostDirectory& directory, const std::string& key,
                          nanoseconds patience) {
  if (auto good = HostDirectory::check_key(key); !good) return tl::make_unexpected(good.error());
  const auto deadline = Steady::now() + patience;
  while (true) {
    const Descriptor lock = open_lock(directory, key);
    if (!lock && errno == ENOENT) {  // the agent ended normally, or a cleaner removed the file
      if (runs_elsewhere(key)) return Sweep{.is_running = true, .is_elsewhere = true};
      return end_processes_of({}, key, mark_of(directory, key), sweep_kill_limit);
    }
    if (!lock)
      return fail(ErrorClass::host, fmt::format("cannot open '{}': {}", directory.lock_path(key),
                                                system_reason(errno)));
    const bool is_locked = ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (is_locked && is_named(lock.get(), directory, key)) {
      if (is_foreign(read_agent_record(lock.get()))) return Sweep{.is_foreign = true};
      Sweep sweep = sweep_under_lock(directory, key, lock.get());
      sweep.found_state = true;
      if (auto removed = directory.remove(key); !removed)
        return tl::make_unexpected(removed.error());
      return sweep;
    }
    if (!is_locked && (Steady::now() >= deadline || lives(read_agent_record(lock.get()))))
      return Sweep{.is_running = true};
    (void)::poll(nullptr, 0, retry_milliseconds);
  }
}

void sweep_before_start(const HostDirectory& directory, const std::string& key, int lock) {
  struct stat file {};
  if (::fstat(lock, &file) == 0 && file.st_size > 0) (void)sweep_under_lock(directory, key, lock);
  const auto deadline = Steady::now() + all_limit;
  for (const std::string& other : keys_in(directory)) {
    if (other == key || Steady::now() >= deadline) continue;
    const Descriptor dead = lock_of_dead(directory, other);
    if (!dead) continue;
    (void)sweep_under_lock(directory, other, dead.get());
    (void)directory.remove(other);
  }
}

}  // namespace train
