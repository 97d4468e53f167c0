// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/surroundings/exit_code.hpp"

namespace train {

/// A task whose launcher was told to stop it.
struct ToldToStop {
  TaskRecord task;
  Descriptor launcher;  ///< its process, where it is one of this machine
  std::string lock_file;
  std::chrono::steady_clock::time_point deadline;  ///< by which it should have ended
};

/// Tells the launcher of a running task to stop it, with this signal as the reason: SIGINT, SIGTERM
/// or SIGHUP. One that was told before does not wait for the ranks' grace.
Result<ToldToStop> tell_to_stop(const SqliteTaskStore& store, TaskRecord task, int signal);

/// Waits for the end that it was told of, and says what it is: code 75 when it does not come. None
/// when its launcher has died before it: nobody stops the task then.
std::optional<ExitCode> await_end(const ToldToStop& told);

/// Stops a task, whatever its state, and says what has become of it: one that runs, one that is
/// unattended, and what one that has ended has left on hosts.
ExitCode stop_task(const std::string& prefix, int signal);

}  // namespace train
