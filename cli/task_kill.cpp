// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "backends/log/task_watch.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/store/launcher_lock.hpp"
#include "backends/store/task_bundle.hpp"
#include "cli/adoption.hpp"
#include "cli/commands.hpp"
#include "cli/host_sweep.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_control.hpp"
#include "launcher/run/run.hpp"

namespace train {

namespace {

// A descriptor of the launcher of a task, so that a signal never reaches another process with its
// old number; none when the process of that number does not hold the lock of the task.
Descriptor open_launcher(const TaskRecord& task, const std::string& lock_file) {
  const auto pid = static_cast<pid_t>(task.launcher_pid);
  struct stat lock {};
  if (pid <= 0 || ::stat(lock_file.c_str(), &lock) != 0) return {};
  Descriptor launcher = open_process(pid);
  FolderReader descriptors(fmt::format("/proc/{}/fd", pid));
  while (const char* name = launcher && descriptors ? descriptors.next() : nullptr) {
    struct stat status {};
    if (::fstatat(descriptors.descriptor(), name, &status, 0) == 0 &&
        status.st_dev == lock.st_dev && status.st_ino == lock.st_ino)
      return launcher;
  }
  return {};
}

// By its socket, else by a signal: where there can be no socket, and where the launcher is too
// busy, or too stopped, to answer.
Result<void> tell_to_stop(const TaskRecord& task, const Descriptor& launcher,
                          const std::string& socket) {
  const auto told = stop_through(socket, SIGTERM);
  if (told && *told) return {};
  if (!launcher && !told) return tl::make_unexpected(told.error());
  if (!launcher)
    return fail(
        ErrorClass::no_input,
        fmt::format("the launcher of task {} is not a process that can be reached from here",
                    task.id),
        "run this on the machine, and in the container, of its launcher");
  if (const int error = send_signal(launcher, SIGTERM); error != 0)
    return fail(ErrorClass::no_input, fmt::format("the launcher of task {} cannot be signalled: {}",
                                                  task.id, system_reason(error)));
  return {};
}

// Waits until the launcher lets go of its lock: the end is recorded then. Its process may live
// longer, when a terminal does not take its output.
bool wait_for_end(int pidfd, const std::string& lock_file, std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  TaskWatch watch(lock_file, "");
  while (probe_launcher(lock_file) != LauncherSign::gone) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return false;
    // Without a descriptor of it, the lock is looked at again.
    constexpr milliseconds look{1'000};
    if (pidfd < 0)
      (void)watch.wait(std::min(left, look), {});
    else if (watch.wait(left, {pidfd}))
      return true;
  }
  return true;
}

// Its ranks are stopped by a launcher, which this process becomes.
ExitCode kill_unattended(std::unique_ptr<SqliteTaskStore> store, const TaskRecord& task) {
  if (auto same = become_kept_program(*store, task, {"task", "kill", task.id}); !same)
    return report(same.error());
  if (!read_bundle(store->bundle_folder(task.id))) return sweep_lost_task(*store, task);
  store.reset();
  auto adoption = Adoption::begin(task.id);
  if (!adoption) return report(adoption.error());
  const Ended ended = adoption->run([] {}, SIGTERM);
  if (!ended.is_recorded) return ended.code;
  if (ended.verdict != SweepVerdict::clean) {
    talk(ended.last_words);
    return exit_code_of(ended.verdict == SweepVerdict::busy ? ErrorClass::busy : ErrorClass::host);
  }
  const auto now = adoption->store().find(task.id);
  if (!now) return report(now.error());
  talk(terminal_text("task {}: {}", task.id, to_string(now->state)));
  return ExitCode();
}

}  // namespace

ExitCode task_kill_command(const TaskKillFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  if (task->state == TaskState::lost) return sweep_lost_task(**store, *task);
  if (task->is_unattended) return kill_unattended(std::move(*store), *task);
  if (is_final(task->state)) {
    talk(terminal_text("task {} has ended already: {}", task->id, to_string(task->state)));
    return ExitCode();
  }
  const std::string lock_file = (*store)->lock_file(task->id);
  const Descriptor launcher = open_launcher(*task, lock_file);
  if (const auto told = tell_to_stop(*task, launcher, (*store)->control_socket(task->id)); !told)
    return report(told.error());
  const auto plan_grace = std::chrono::milliseconds(task->stop_grace_ms);
  const bool ended =
      wait_for_end(launcher.get(), lock_file, plan_grace + Run::Timing().stop_slack * 2);
  if (!ended)
    return report(make_error(
        ErrorClass::busy, fmt::format("task {} was told to stop and has not ended yet", task->id),
        fmt::format("train task kill {} once more kills its ranks without "
                    "grace",
                    task->id)));
  task = (*store)->find(task->id);
  if (!task) return report(task.error());
  talk(terminal_text("task {}: {}", task->id, to_string(task->state)));
  return ExitCode();
}

}  // namespace train
