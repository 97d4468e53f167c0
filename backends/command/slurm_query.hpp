// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/posix/connected_process.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// The environment of one of Slurm's programs: `environment` without Slurm's variables but the name
/// of its file of settings, and without lists of devices. These programs take options from
/// variables, and `srun` would pass them and the GPUs of this process on to its step.
std::vector<std::string> environment_for_slurm(std::vector<std::string> environment);

/// The call of one of Slurm's programs, found in $PATH, with these words. Class `missing` if there
/// is none of that name.
Result<ProgramCall> slurm_call(const std::vector<std::string>& words);

/// What of a program of Slurm is its answer.
enum class SlurmAnswer {
  output,  ///< its standard output, if it succeeds
  words,   ///< all that it prints, whether or not it succeeds
};

/// Makes such a call and returns the answer. Blocks, but no longer than the limit. Class `missing`
/// as above; else `host`, with the last line of its standard error.
Result<std::string> ask_slurm(const std::vector<std::string>& words, milliseconds limit,
                              SlurmAnswer answer = SlurmAnswer::output);

/// What Slurm says of a job, by `scontrol show job -d -o`: a line for each of its components.
/// Blocks, but no longer than the limit. Nothing: there is no `scontrol` in $PATH, no such job, or
/// no answer.
std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit);

}  // namespace train
