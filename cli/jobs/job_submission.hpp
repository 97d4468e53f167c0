// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/request/request.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/task/job_note.hpp"

namespace train {

/// How a job is submitted and shown.
struct JobLaunch {
  bool is_detached = false;        ///< returns once Slurm has the job
  std::vector<std::string> flags;  ///< of the launch in the job
  std::vector<std::string> view;   ///< of `train task attach`, which shows it
};

/// What is done with a job that was submitted before.
enum class Following {
  show,   ///< its task is shown; a signal ends that
  await,  ///< likewise, but only its end is reported
};
/// Waits for its end, and returns the exit code of its task. `view` are words of `train task
/// attach`.
ExitCode follow_job(const JobNote& note, Following how, const std::vector<std::string>& view);

/// Submits the plan as a job of Slurm, and prints its id and that of its task. Then waits for its
/// start, shows what its ranks print, and returns the exit code of the task. SIGINT, SIGTERM and
/// SIGHUP cancel the job. A job that would wait for ever is cancelled, too: class `never`.
ExitCode launch_as_job(const Request& request, const RequestFlags& flags, const Plan& plan,
                       const JobLaunch& launch);

}  // namespace train
