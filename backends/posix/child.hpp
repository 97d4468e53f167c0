// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The environment of this process: as texts "NAME=value" for a child, and as a map by name.
std::vector<std::string> environment_texts();
std::map<std::string, std::string> session_environment();

/// While it exists, all signals are blocked in this thread, and for good in threads started then.
class WithoutSignals {
 public:
  WithoutSignals();
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread that takes no signals. Class `host` when no more threads can be started.
Result<std::thread> start_joinable_thread(std::function<void()> body);
/// The same, detached.
Result<void> start_thread(std::function<void()> body);
/// Flushes the output and ends the program without destroying static objects: detached threads may
/// still run, on a disk that hangs or at their own end, and use those.
[[noreturn]] void end_program(int code);

/// What happens to a child when the *thread* that started it ends.
enum class OnParentEnd {
  die,    ///< it is killed: start it from a thread that lives as long as the child may
  go_on,  ///< it gets no signal, and has to notice by itself
};

/// Everything that a child needs between clone and exec, prepared by the parent: the child shares
/// the parent's memory and may neither allocate nor take a lock.
struct ChildSetup {
  /// The texts must outlive this. `variable_texts` ("NAME=value") are the whole environment.
  ChildSetup(const std::string& program_path, const std::vector<std::string>& argument_texts,
             const std::vector<std::string>& variable_texts, const std::string& directory);

  const char* program;
  /// An open file to execute instead of `program`, which is then only a name; -1: none.
  int program_file = -1;
  std::vector<char*> argv;         ///< ends with a null pointer
  std::vector<char*> environment;  ///< ends with a null pointer
  const char* working_directory;
  /// The CPUs that it may run on, as a mask (`cpu_mask`); empty: as the parent.
  std::vector<unsigned long> cpus = {};
  int standard[3] = {-1, -1, -1};      ///< become descriptors 0, 1 and 2; all above 2
  const rlimit* open_files = nullptr;  ///< limit of open files; null: as the parent's
  /// The open directory of the cgroup in which its program runs; -1: the parent's. If the kernel
  /// refuses, the child starts nevertheless, in the parent's.
  int cgroup = -1;
  /// True: the child enters the cgroup by itself, which takes the kernel some 10 ms, instead of
  /// being started inside it; for when the latter was found not to work.
  bool joins_cgroup = false;
  OnParentEnd on_parent_end = OnParentEnd::die;
};

/// A set of CPUs as a kernel mask, in whole words; `cpus` are ascending and not negative.
std::vector<unsigned long> cpu_mask(const std::vector<int>& cpus);

/// What the child was doing when it failed.
enum class ChildStep {
  none,
  clone,
  session,
  death_signal,
  parent,
  descriptors,
  chdir,
  affinity,
  exec,
  pidfd,  ///< no pidfd could be had; the child could not be waited for, so it was killed
};

/// The name of a step as error texts show it: "chdir", "exec", ...
const char* to_string(ChildStep step);

/// The result of `start_child`.
struct StartedChild {
  pid_t pid = -1;
  Descriptor pidfd;
  ChildStep failed = ChildStep::none;
  int error = 0;  ///< errno of the step that failed
  /// It could not be started inside its cgroup, and entered it by itself.
  bool has_joined_cgroup = false;
};

/// Starts a child in a session of its own. All signals are at their defaults and none is blocked;
/// only descriptors 0 to 2 are open. Returns once the child has executed its program or failed; a
/// child that failed is gone, as is any on kernels without process descriptors (before 5.3).
/// Linux can start children inside a cgroup since 5.7; but 6.14 and later kill every child that a
/// process starts in another cgroup if its own was ever emptied by `cgroup.kill`: such a child is
/// started once more, and enters its cgroup by itself.
/// Meanwhile only this thread is suspended: a working directory or a program on a dead network file
/// system blocks only this call.
StartedChild start_child(const ChildSetup& setup);

/// How a process ended: with a code, or by a signal; neither if that is not known, because it was
/// reaped elsewhere.
struct ExitStatus {
  std::optional<int> code = {};    ///< 0 .. 255
  std::optional<int> signal = {};  ///< number
  bool dumped_core = false;
  Instant at{};  ///< when the end was noticed
  /// User and system CPU time, with that of descendants that were waited for.
  nanoseconds cpu{0};
  /// The peak memory of the largest of these processes, in bytes; may be the memory that its parent
  /// had at the time of exec.
  std::uint64_t largest_memory = 0;

  bool operator==(const ExitStatus&) const = default;
};

/// Reaps the child behind `pidfd`, as of `now`: `nullopt` while it still runs; an error of class
/// `bug` when it is not a child of this process or was reaped elsewhere. Never blocks. The
/// descriptor stays open. A pidfd, unlike a pid, never refers to another process.
Result<std::optional<ExitStatus>> reap(int pidfd, Instant now);

/// Waits for the end of a child and reaps it.
ExitStatus wait_for_child(pid_t pid);

/// Whether a child has ended; waits up to `patience_milliseconds` for that. Does not reap it.
bool has_ended(const Descriptor& pidfd, int patience_milliseconds = 0);

// For a process that adopts orphans: it does not know the pids of all its children.

/// Whether this process has any child, including ended ones.
bool has_child();
/// The pid of a child that has ended; 0 when there is none. Does not reap it.
int ended_child();
/// Reaps this child if it has ended; false when it has not.
bool reap_orphan(int pid);
/// Reaps any child that has ended and returns its pid; 0 when none has.
int reap_any();
/// The same, as of `now`, with its status; `nullopt` when none has ended.
struct EndedChild {
  int pid = 0;
  ExitStatus status;
};
std::optional<EndedChild> collect_any(Instant now);
/// Reaps this child, as of `now`; `nullopt` when it has not ended or is not a child.
std::optional<ExitStatus> collect_child(int pid, Instant now);

}  // namespace train
