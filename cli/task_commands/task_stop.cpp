// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/task_stop.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/adoption.hpp"
#include "cli/supervisor/host_sweep.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/run/run.hpp"

namespace train {

namespace {

// A pidfd of the supervisor of a task, so that a signal never reaches another process that reuses
// its pid. None if the process with that pid does not hold the lock of the task.
Descriptor open_supervisor(const TaskRecord& task, const std::string& lock_file) {
  const auto pid = static_cast<pid_t>(task.launcher_pid);
  struct stat lock {};
  if (pid <= 0 || ::stat(lock_file.c_str(), &lock) != 0) return {};
  Descriptor supervisor = open_process(pid);
  FolderReader descriptors(fmt::format("/proc/{}/fd", pid));
  while (const char* name = supervisor && descriptors ? descriptors.next() : nullptr) {
    struct stat status {};
    if (::fstatat(descriptors.descriptor(), name, &status, 0) == 0 &&
        status.st_dev == lock.st_dev && status.st_ino == lock.st_ino)
      return supervisor;
  }
  return {};
}

// Through its socket, else by a signal: if there is no socket, or if the supervisor is too busy or
// is stopped (SIGSTOP) and does not answer.
Result<void> tell(const TaskRecord& task, const Descriptor& supervisor, const std::string& socket,
                  int signal) {
  const auto told = stop_through(socket, signal);
  if (told && *told) return {};
  if (!supervisor && !told) return tl::make_unexpected(told.error());
  if (!supervisor)
    return fail(
        ErrorClass::no_input,
        fmt::format("the launcher of task {} is not a process that can be reached from here",
                    task.id),
        "run this on the machine, and in the container, of its launcher");
  if (const int error = send_signal(supervisor, signal); error != 0)
    return fail(ErrorClass::no_input, fmt::format("the launcher of task {} cannot be signalled: {}",
                                                  task.id, system_reason(error)));
  return {};
}

// For a task that cannot be resumed even to stop it: tells its agents that it is over.
Result<SweepVerdict> end_without_journal(const std::string& task_id, const Error& why, int signal) {
  auto store = open_task_store();
  if (!store) return tl::make_unexpected(store.error());
  if (auto adopted = (*store)->adopt(task_id); !adopted)
    return tl::make_unexpected(adopted.error());
  auto task = (*store)->find(task_id);
  if (!task) return tl::make_unexpected(task.error());
  talk(terminal_text("{}; its hosts are told to end it", why.diagnostics.front().message));
  auto verdict = settle_hosts(**store, *task);
  if (!verdict) return verdict;
  task->state = signal == SIGTERM ? TaskState::killed : TaskState::interrupted;
  task->ended = now_on_the_wall();
  task->exit_code = 128 + signal;
  task->error_class = to_string(ErrorClass::interrupted);
  task->cause = fmt::format("stopped by {}", signal_name(signal));
  end_last_attempt(*task);
  if (auto updated = (*store)->update(*task); !updated) return tl::make_unexpected(updated.error());
  return verdict;
}

Error another_attends(const std::string& task_id) {
  return make_error(ErrorClass::busy, fmt::format("another launcher goes on with task {}", task_id),
                    fmt::format("train task kill {} once more tells that one to stop", task_id));
}

// This process becomes the supervisor and stops the ranks. Class `busy` if another process has
// become the supervisor.
Result<SweepVerdict> stop_unattended(const std::string& task_id, int signal) {
  auto adoption = Adoption::begin_stop(task_id, signal);
  if (!adoption && adoption.error().error_class == ErrorClass::busy)
    return tl::make_unexpected(adoption.error());
  if (!adoption) {
    const Error why = adoption.error();
    return end_without_journal(task_id, why, signal);
  }
  if (const auto& trouble = adoption->journal_trouble())
    talk(terminal_text("{}; its ranks are stopped all the same",
                       trouble->diagnostics.front().message));
  StopSignals signals;
  const Ended ended = adoption->run([](const TerminalText&) {}, signals);
  if (ended.is_displaced) return tl::make_unexpected(another_attends(task_id));
  if (!ended.is_recorded)
    return fail(ErrorClass::no_input,
                fmt::format("task {} was stopped, and its end is not recorded", task_id));
  if (ended.verdict != SweepVerdict::clean) talk(ended.last_words);
  return ended.verdict;
}

ExitCode report_state(const SqliteTaskStore& store, const TaskRecord& task,
                      SweepVerdict verdict = SweepVerdict::unclear) {
  talk(terminal_text("task {}: {}", task.id, to_string(task.state)));
  const auto unsettled = names_of_unsettled_hosts(store, task);
  if (unsettled.empty()) return ExitCode();
  return report(
      make_error(verdict == SweepVerdict::busy ? ErrorClass::busy : ErrorClass::host,
                 fmt::format("{} may still have something of it", summarize_hosts(unsettled)),
                 fmt::format("train task kill {} asks {} again", task.id,
                             unsettled.size() == 1 ? "that host" : "these hosts")));
}

ExitCode kill_unattended(std::unique_ptr<SqliteTaskStore> store, const TaskRecord& task,
                         int signal) {
  const std::vector<std::string> arguments = {"task", "kill", task.id, "--signal",
                                              signal_name(signal).substr(3)};
  // The agents may be too old for this build; if the other build cannot be executed, this one is
  // still better than none.
  if (auto same = become_kept_program(*store, task, arguments); !same)
    talk(terminal_text(same.error()));
  store.reset();
  const auto verdict = stop_unattended(task.id, signal);
  if (!verdict) return report(verdict.error());
  auto reopened = open_task_store();
  if (!reopened) return report(reopened.error());
  const auto now = (*reopened)->find(task.id);
  return now ? report_state(**reopened, *now, *verdict) : report(now.error());
}

ExitCode kill_ended(const SqliteTaskStore& store, const TaskRecord& task) {
  const bool is_settled = names_of_unsettled_hosts(store, task).empty();
  if (task.state == TaskState::lost || !is_settled) return settle_ended_task(store, task);
  talk(terminal_text("task {} has ended already: {}", task.id, to_string(task.state)));
  return ExitCode();
}

}  // namespace

Result<RequestedStop> request_stop(const SqliteTaskStore& store, TaskRecord task, int signal) {
  const std::string lock_file = store.lock_file(task.id);
  Descriptor supervisor = open_supervisor(task, lock_file);
  if (const auto told = tell(task, supervisor, store.control_socket(task.id), signal); !told)
    return tl::make_unexpected(told.error());
  const std::chrono::milliseconds stop(task.stop_notice_ms + task.stop_grace_ms);
  const auto limit = stop + Run::Timing().stop_slack * 2;
  return RequestedStop{std::move(task), std::move(supervisor), lock_file,
                       std::chrono::steady_clock::now() + limit};
}

std::optional<ExitCode> await_end(const RequestedStop& told) {
  if (await_release(told.lock_file, told.deadline, told.supervisor.get())) {
    auto store = open_task_store();
    if (!store) return report(store.error());
    const auto task = (*store)->find(told.task.id);
    if (!task) return report(task.error());
    if (task->is_unattended) return std::nullopt;
    return report_state(**store, *task);
  }
  return report(make_error(
      ErrorClass::busy, fmt::format("task {} was told to stop and has not ended yet", told.task.id),
      fmt::format("train task kill {} once more kills its ranks without "
                  "grace",
                  told.task.id)));
}

ExitCode stop_task(const std::string& prefix, int signal) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(prefix);
  if (!task) return report(task.error());
  if (task->is_unattended) return kill_unattended(std::move(*store), *task, signal);
  if (is_final(task->state)) return kill_ended(**store, *task);
  const std::string id = task->id;
  const auto told = request_stop(**store, std::move(*task), signal);
  if (told)
    if (const auto code = await_end(*told)) return *code;
  // The task may have ended, or lost its supervisor, since it was looked up.
  const auto now = (*store)->find(id);
  if (now && now->is_unattended) return kill_unattended(std::move(*store), *now, signal);
  if (now && is_final(now->state)) return kill_ended(**store, *now);
  if (!now) return report(now.error());
  return report(told ? another_attends(id) : told.error());
}

}  // namespace train
