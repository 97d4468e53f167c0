// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace train {

/// What becomes of a child when the *thread* that started it ends.
enum class OnParentEnd {
  die,    ///< it is killed: call from a thread that lives as long as the child may
  go_on,  ///< it finds out by itself
};

/// Everything that a child needs between clone and exec, made ready by the parent: the child
/// shares the parent's memory and may neither allocate nor take a lock.
struct ChildSetup {
  const char* program = nullptr;
  char* const* argv = nullptr;         ///< ends with a null pointer
  char* const* environment = nullptr;  ///< ends with a null pointer
  const char* working_directory = nullptr;
  int standard[3] = {-1, -1, -1};      ///< become descriptors 0, 1 and 2; all above 2
  const rlimit* open_files = nullptr;  ///< limit of descriptors; null: as the parent's
  /// The open directory of the cgroup that it executes its program in; -1: the parent's. A child
  /// that is not let in starts all the same, in the parent's.
  int cgroup = -1;
  /// Whether it enters the cgroup by itself, which takes the kernel some 10 ms: where
  /// `can_start_in` says no.
  bool joins_cgroup = false;
  OnParentEnd on_parent_end = OnParentEnd::die;
};

/// The texts as exec takes them, a null pointer at the end; they must outlive it.
std::vector<char*> exec_pointers(const std::vector<std::string>& texts);

/// What the child was doing when it failed.
enum class ChildStep { none, clone, session, death_signal, parent, descriptors, chdir, exec };

/// The name of a step as error texts show it: "chdir", "exec", ...
const char* to_string(ChildStep step);

/// What came of `start_child`.
struct StartedChild {
  pid_t pid = -1;
  int pidfd = -1;  ///< -1 when the kernel has none (before 5.3)
  ChildStep failed = ChildStep::none;
  int error = 0;  ///< errno of the step that failed
};

/// Tries whether children can start inside of this cgroup, which costs nothing: by a child that
/// ends at once. Linux can since 5.7; but 6.14 and later kill every child that a process starts in
/// another cgroup when its own was ever emptied by `cgroup.kill`.
bool can_start_in(int cgroup);

/// Starts a child in a session of its own. All signals are at their defaults and none is blocked;
/// only descriptors 0 to 2 are open. Returns once the child has executed its program or failed; a
/// child that failed has been reaped. Meanwhile this thread is suspended, others go on: a working
/// directory or a program on a dead network file system holds up this call alone.
StartedChild start_child(const ChildSetup& setup);

}  // namespace train
