// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/ports/clock.hpp"

namespace train {

/// The environment of one of Slurm's programs: `environment` without Slurm's variables but the name
/// of its file of settings, and without lists of devices. These programs take options from
/// variables, and `srun` would pass them and the GPUs of this process on to its step.
std::vector<std::string> environment_for_slurm(std::vector<std::string> environment);

/// What Slurm says of a job, by `scontrol show job -d -o`: a line for each of its components.
/// Blocks, but no longer than the limit. Nothing: there is no `scontrol` in $PATH, no such job, or
/// no answer.
std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit);

}  // namespace train
