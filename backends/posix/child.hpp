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

/// The environment of this process: as a child gets it ("NAME=value"), and by name.
std::vector<std::string> environment_texts();
std::map<std::string, std::string> session_environment();

/// While it lives, this thread takes no signals; nor do the threads that it starts, ever.
class WithoutSignals {
 public:
  WithoutSignals();
  ~WithoutSignals();
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread that takes no signals. Class `host` when there can be no further one.
Result<std::thread> start_joinable_thread(std::function<void()> body);
/// The same, for one that nobody waits for.
Result<void> start_thread(std::function<void()> body);
/// Ends the program with what it has printed, and destroys nothing that is static: threads that
/// nobody waits for may be at work, on a disk that hangs or at their own end, and use that.
[[noreturn]] void end_program(int code);

/// What becomes of a child when the *thread* that started it ends.
enum class OnParentEnd {
  die,    ///< it is killed: call from a thread that lives as long as the child may
  go_on,  ///< it finds out by itself
};

/// Everything that a child needs between clone and exec, made ready by the parent: the child
/// shares the parent's memory and may neither allocate nor take a lock.
struct ChildSetup {
  /// The texts must outlive it. `variable_texts` ("NAME=value") are the whole environment.
  ChildSetup(const std::string& program_path, const std::vector<std::string>& argument_texts,
             const std::vector<std::string>& variable_texts, const std::string& directory);

  const char* program;
  /// An open file that is executed instead of `program`, which then only names it; -1: none.
  int program_file = -1;
  std::vector<char*> argv;         ///< ends with a null pointer
  std::vector<char*> environment;  ///< ends with a null pointer
  const char* working_directory;
  /// That it may run on, as the kernel has them; empty: as the parent. See `cpu_mask`.
  std::vector<unsigned long> cpus = {};
  int standard[3] = {-1, -1, -1};      ///< become descriptors 0, 1 and 2; all above 2
  const rlimit* open_files = nullptr;  ///< limit of descriptors; null: as the parent's
  /// The open directory of the cgroup that it executes its program in; -1: the parent's. A child
  /// that is not let in starts all the same, in the parent's.
  int cgroup = -1;
  /// Whether it enters the cgroup by itself, which takes the kernel some 10 ms, and is not started
  /// inside of it: where that was found not to work.
  bool joins_cgroup = false;
  OnParentEnd on_parent_end = OnParentEnd::die;
};

/// A set of CPUs as the kernel takes it, in whole words; the numbers are ascending and not
/// negative.
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
  pidfd,  ///< no descriptor of it could be had: nobody could wait for it, so it was killed
};

/// The name of a step as error texts show it: "chdir", "exec", ...
const char* to_string(ChildStep step);

/// What came of `start_child`.
struct StartedChild {
  pid_t pid = -1;
  Descriptor pidfd;
  ChildStep failed = ChildStep::none;
  int error = 0;  ///< errno of the step that failed
  /// It could not be started inside of its cgroup, and entered it by itself.
  bool has_joined_cgroup = false;
};

/// Starts a child in a session of its own. All signals are at their defaults and none is blocked;
/// only descriptors 0 to 2 are open. Returns once the child has executed its program or failed; a
/// child that failed is gone, as is any on kernels without process descriptors (before 5.3).
/// Inside of a cgroup Linux can start children since 5.7; but 6.14 and later kill every child that
/// a process starts in another cgroup when its own was ever emptied by `cgroup.kill`: such a child
/// is started once more, and enters its cgroup by itself.
/// Meanwhile this thread is suspended, others go on: a working directory or a program on a dead
/// network file system holds up this call alone.
StartedChild start_child(const ChildSetup& setup);

/// How a process ended: either by itself, with a code, or by a signal; neither when that is not
/// known, because somebody else has collected it.
struct ExitStatus {
  std::optional<int> code = {};    ///< 0 .. 255
  std::optional<int> signal = {};  ///< number
  bool dumped_core = false;
  Instant at{};  ///< when the end was noticed
  /// CPU time of the user and the system, with that of descendants that were waited for.
  nanoseconds cpu{0};
  /// The most that the largest of these had in memory at a time, in bytes; it may be what its
  /// starter had when that executed it.
  std::uint64_t largest_memory = 0;

  bool operator==(const ExitStatus&) const = default;
};

/// Collects the child behind `pidfd`, as of `now`: nothing while it still runs; an error of class
/// `bug` when it is no child of this process or somebody else has collected it. Never blocks. The
/// descriptor stays open. A descriptor, unlike a number, never means another process.
Result<std::optional<ExitStatus>> reap(int pidfd, Instant now);

/// Waits for the end of a child and collects it.
ExitStatus wait_for_child(pid_t pid);

/// Whether a child has ended, waiting so long for it. It is not collected.
bool has_ended(const Descriptor& pidfd, int patience_milliseconds = 0);

// For a process that adopts orphans: it does not know the numbers of all its children.

/// Whether this process has any child, one that has ended included.
bool has_child();
/// The number of a child that has ended; 0 when there is none. The child is not collected.
int ended_child();
/// Collects a child that has ended; false when it has not.
bool reap_orphan(int pid);
/// Collects some child that has ended: its number, 0 when none has.
int reap_any();
/// The same, as of `now`, with how it ended; nothing when none has.
struct EndedChild {
  int pid = 0;
  ExitStatus status;
};
std::optional<EndedChild> collect_any(Instant now);
/// Collects this child, as of `now`; nothing when it has not ended, or is none.
std::optional<ExitStatus> collect_child(int pid, Instant now);

}  // namespace train
