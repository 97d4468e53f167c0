// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/ports/clock.hpp"

namespace train {

/// The exit code of a step that has shown a task to its end, which was not a success; of one it is
/// 0. Those of a step that Slurm refuses, or of a launcher that has left the task, are others.
inline constexpr int shown_failure = 3;

/// In a step of a job: says, as long as this process runs, that the task whose id begins so is
/// being watched. Without effect if its launcher does not run here in a job.
void watch_job_as_long_as_this_runs(const std::string& task);

/// The same for a launcher that has not begun.
void watch_new_job(const std::string& task);

/// The launcher of a job says that it runs here.
void expect_viewers(const std::string& task);

/// How a launcher in a job has ended.
enum class JobTask {
  unrecorded,  ///< it has failed before
  recorded,
};
/// Waits until nobody watches the task, at most `limit`: Slurm ends the steps of a job together
/// with its script. `is_expected`: somebody comes to watch it, if he lives.
void await_viewers(const std::string& task, JobTask ended, bool is_expected, milliseconds limit);

/// For one who watches: whether the launcher has ended without a record.
bool has_failed_unrecorded(const std::string& task);

}  // namespace train
