// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/allocation/slurm_partition.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/environment_map.hpp"

namespace train {

/// Whether the experiment is to be submitted as a job of Slurm: its engine says so, and this is no
/// such job.
bool is_for_slurm(const ExperimentConfig& experiment, const EnvironmentMap& environment);

/// Asks Slurm for the partition of the experiment, and its nodes. Class `missing` if there is no
/// Slurm here, `host` if it does not answer, `config` or `never` if it has none that serves.
Result<SlurmPartition> ask_for_partition(const ExperimentConfig& experiment,
                                         const EnvironmentMap& environment);

}  // namespace train
