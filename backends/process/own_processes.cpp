// SPDX-License-Identifier: Apache-2.0
#include "backends/process/own_processes.hpp"

#include <mutex>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"

namespace train {

namespace {

// A process is made only while the mutex is locked, so its owner knows all that were made before.
// The mutex is held for moments only, never while /proc is read, which may take long: the loop
// waits for it.
struct Registry {
  std::mutex mutex;
  std::set<int> pids;
};

// Never destroyed: a thread that cleans up may outlive main().
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

}  // namespace

void start_own_process(const std::function<pid_t()>& start) {
  const std::lock_guard all(registry().mutex);
  if (const pid_t process = start(); process > 0) registry().pids.insert(process);
}

void collect_own_process(pid_t process) {
  const std::lock_guard all(registry().mutex);
  registry().pids.erase(process);
  (void)collect_child(process, boot_time());
}

std::set<int> own_processes() {
  const std::lock_guard all(registry().mutex);
  return registry().pids;
}

}  // namespace train
