// SPDX-License-Identifier: Apache-2.0
#include "backends/process/process_tree.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// How long to wait for a killed process before looking for new ones.
constexpr int round_milliseconds = 20;
// A process with more children than this is dealt with in several rounds.
constexpr size_t polled_children = 256;

// Signals one process found in /proc, if it is still a child of one of `parents`: its pid may have
// been reused by an unrelated process meanwhile. Returns 0, ESRCH or EPERM.
int signal_child(int pid, int signal, const std::set<int>& parents) {
  const Descriptor process = open_process(pid);
  if (!process) return ESRCH;
  const auto parent = parent_of(pid);
  if (!parent || !parents.contains(*parent)) return ESRCH;
  return send_signal(process, signal);
}

// Returns as soon as a child has ended, or after one round.
void await_a_child(int timeout_milliseconds) {
  std::vector<Descriptor> processes;
  for (const int child : children_of(::getpid())) {
    if (processes.size() == polled_children) break;
    if (Descriptor process = open_process(child)) processes.push_back(std::move(process));
  }
  std::vector<pollfd> polled;
  polled.reserve(processes.size());
  for (const Descriptor& process : processes) polled.push_back({process.get(), POLLIN, 0});
  (void)::poll(polled.data(), polled.size(), timeout_milliseconds);
}

std::vector<Survivor> list_descendants() {
  std::vector<Survivor> left;
  std::vector<int> queue = {::getpid()};
  for (size_t i = 0; i < queue.size(); ++i)
    for (const int child : children_of(queue[i])) {
      queue.push_back(child);
      left.push_back(describe(child));
    }
  return left;
}

}  // namespace

// The arguments of a process are in its memory, and reading them may block while the process is in
// uninterruptible sleep ('D'): then only its name is used.
Survivor describe(int pid) {
  const auto status = status_of(pid);
  const bool is_stuck = status && status->state == 'D';
  return {pid, owner_of(pid).value_or(0), is_stuck ? name_of(pid) : command_of(pid)};
}

Result<void> become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return fail(ErrorClass::host, "cannot adopt orphaned processes: " + system_reason(errno));
}

bool signal_group(int leader, int signal) {
  if (leader <= 1) return true;
  return ::kill(-leader, signal) == 0 || errno != EPERM;
}

std::vector<Survivor> kill_descendants(const std::function<std::set<int>()>& keep, int signal) {
  // Skips /proc when there are no children: the kernel has to clean up each entry that was read
  // when that process ends.
  if (!has_child()) return {};
  // Lists the whole tree before the first signal: when a process ends, its children get another
  // parent and are not found below it any more.
  std::vector<int> queue = {::getpid()};
  std::set<int> tree = {::getpid()};
  std::set<int> kept;
  for (size_t i = 0; i < queue.size(); ++i) {
    const std::vector<int> children = children_of(queue[i]);
    if (i == 0 && keep) kept = keep();
    for (const int child : children)
      if (!kept.contains(child) && tree.insert(child).second) queue.push_back(child);
  }

  std::vector<Survivor> survivors;
  for (size_t i = 1; i < queue.size(); ++i)
    if (signal_child(queue[i], signal, tree) == EPERM) survivors.push_back(describe(queue[i]));
  return survivors;
}

std::vector<Survivor> kill_all_descendants(nanoseconds limit) {
  const Instant deadline = boot_time() + limit;
  while (true) {
    kill_descendants(nullptr, SIGKILL);
    while (reap_any() != 0) continue;
    if (!has_child()) return {};
    if (boot_time() >= deadline) return list_descendants();
    await_a_child(round_milliseconds);
  }
}

}  // namespace train
