// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/environment_map.hpp"

namespace train {

/// Gives the text of the file at a path, or says why it cannot be read.
using FileText = std::function<Result<std::string>(const std::string& path)>;

/// The hosts that a batch scheduler gave to this job, in its order; nothing outside of one. The
/// first of these that is there counts, and a warning names the others:
///
/// - Slurm: `SLURM_JOB_NODELIST`, see `read_slurm_allocation`;
/// - PBS, Torque: `PBS_NODEFILE`, one line a slot. Where no host has more than one line,
///   `PBS_NUM_PPN` says the slots. Torque's `PBS_GPUFILE` (`node01-gpu0`) says the GPUs;
/// - LSF: `LSB_DJOB_HOSTFILE`, one line a slot, else `LSB_MCPU_HOSTS` (`host slots host slots`),
///   else `LSB_HOSTS` (a name a slot). Under IBM's CSM (`CSM_ALLOCATION_ID`) the first host, which
///   then has one slot, only runs the job script and is left out;
/// - Grid Engine: `PE_HOSTFILE`, a line `host slots queue processors`; lines of one host add up.
///
/// A file that cannot be read or names no host, and a variable that is not understood, are errors
/// that name the variable. Variables set to nothing count as not set. A process that `train`
/// started has no allocation: it belongs to the launch that it is part of.
Result<std::optional<HostInventory>> read_allocation(const EnvironmentMap& environment,
                                                     const FileText& text_of);

}  // namespace train
