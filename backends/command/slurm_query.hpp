// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launcher/ports/clock.hpp"

namespace train {

/// What Slurm says of a job, by `scontrol show job -d -o`: a line for each of its components.
/// Blocks, but no longer than the limit. Nothing: there is no `scontrol` in $PATH, no such job, or
/// no answer.
std::optional<std::string> ask_slurm_for_job(const std::string& id, milliseconds limit);

}  // namespace train
