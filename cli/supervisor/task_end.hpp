// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "backends/store/sqlite_task_store.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// Says how a task has ended, and returns what its launch has returned, or would have.
ExitCode tell_end(const TaskRecord& task);

/// Says that nobody attends a task, and how to go on with it: code 75.
ExitCode tell_unattended(const TaskRecord& task);

/// Waits until the launcher of a task lets go of its lock: the end is recorded then, or the
/// launcher has died. Its process, of which `launcher` is a descriptor or -1, may live longer, when
/// a terminal does not take its output. False when it has not by `deadline`.
bool await_release(const std::string& lock_file, std::chrono::steady_clock::time_point deadline,
                   int launcher = -1);

/// A task whose launcher does not answer, as it is a moment later: one that was dying has let go of
/// it by then.
Result<TaskRecord> find_unanswered(SqliteTaskStore& store, const std::string& task_id);

}  // namespace train
