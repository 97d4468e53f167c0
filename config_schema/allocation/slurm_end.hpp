// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace train {

/// Why Slurm ends a job, in words: "its limit of time is over". `job` is what `scontrol show job
/// -o` says of it while its processes are being ended, or afterwards; `restarts` is how often Slurm
/// had put it back into its queue before (`SLURM_RESTART_COUNT`). Empty: Slurm does not end it.
///
/// Who cancelled a job is not said there. A job that goes back into the queue does not say why.
/// Source: scontrol(1), and trials with Slurm 22.05.
std::string slurm_end_of(std::string_view job, int restarts);

/// How often Slurm has put a job back into its queue, counting the time that is just beginning.
/// `job` as above; nothing: it does not say.
std::optional<int> slurm_restarts_of(std::string_view job);

/// Whether a job may be put back into the queue. `job` as above.
bool may_be_requeued(std::string_view job);

/// The exit code of the script of a job that has ended by itself; nothing: it has not. `job` as
/// above.
std::optional<int> slurm_code_of(std::string_view job);

}  // namespace train
