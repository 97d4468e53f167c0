// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/store/sqlite_task_store.hpp"
#include "cli/surroundings/exit_code.hpp"

namespace train {

/// A task whose supervisor was told to stop it.
struct RequestedStop {
  TaskRecord task;
  Descriptor supervisor;  ///< its process, if it runs on this machine
  std::string lock_file;
  std::chrono::steady_clock::time_point deadline;  ///< when it should have ended
};

/// Tells the supervisor of a running task to stop it, with this signal as the reason: SIGINT,
/// SIGTERM or SIGHUP. A second request skips the ranks' grace period.
Result<RequestedStop> request_stop(const SqliteTaskStore& store, TaskRecord task, int signal);

/// Waits for the end of the task and reports it: code 75 if it does not come in time. Nothing if
/// the supervisor died first: then the task is not being stopped.
std::optional<ExitCode> await_end(const RequestedStop& told);

/// Stops a task in any state and reports the result: a running task, an unattended one, or what an
/// ended one has left on hosts.
ExitCode stop_task(const std::string& prefix, int signal);

}  // namespace train
