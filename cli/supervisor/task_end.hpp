// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Reports how a task has ended; returns the exit code that its launch returned, or would have
/// returned.
ExitCode report_end(const TaskRecord& task);

/// Reports that a task is unattended, and how to resume it: code 75.
ExitCode report_unattended(const TaskRecord& task);

/// Waits until the supervisor of a task releases its lock: then the end is recorded, or the
/// supervisor has died. The supervisor's process (`supervisor` is a descriptor of it, or -1) may
/// live longer if a terminal does not take its output. Returns false if `deadline` passes first.
bool await_release(const std::string& lock_file, std::chrono::steady_clock::time_point deadline,
                   int supervisor = -1);

/// The record of a task whose supervisor does not answer, read a moment later: a supervisor that
/// was dying has released its lock by then.
Result<TaskRecord> find_unanswered(SqliteTaskStore& store, const std::string& task_id);

/// Records the end of a task that has no launcher, and nothing left on any host, for this cause:
/// `killed`, or `failed`. Class `busy` if it has a launcher.
Result<void> end_left_task(const std::string& task_id, TaskState state, ErrorClass error_class,
                           const std::string& cause);

}  // namespace train
