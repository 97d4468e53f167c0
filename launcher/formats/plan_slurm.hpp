// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan/plan.hpp"

namespace train {

/// The plan as a batch script for Slurm's sbatch(1): directives that ask for the same hosts with
/// the same ranks, GPUs, CPUs and memory on each, then an `srun` of the entrypoint, or of the words
/// that follow the script's name, with torch's rendezvous variables.
/// - Hosts that are alike and in Slurm's order: `--ntasks-per-node`, block distribution.
/// - Hosts in another order, or with other numbers of ranks where all have room for the most:
///   `--distribution=arbitrary` with a SLURM_HOSTFILE that the script makes.
/// - Else a heterogeneous job, a component for each stretch of hosts that are alike.
std::string plan_to_slurm(const Plan& plan);

}  // namespace train
