// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Decides how many workers the trial has and what each needs, from slots_per_trial (Determined),
/// num_workers, use_gpu and resources_per_worker (Ray): fills `workers`, `needs` and `slots`. Two
/// keys that contradict each other are an error that names both values. If no key gives the number,
/// there are `default_workers`; one in a search, whose trials share the hosts.
void read_workers(const FieldReader& fields, int default_workers, Diagnostics& diagnostics,
                  ExperimentConfig& config);

/// Reads the other requirements of Ray's scaling configuration: the trainer's resources, the labels
/// of hosts, and TPU slices. `config.workers` must be known.
void read_scaling_needs(const FieldReader& fields, Diagnostics& diagnostics,
                        ExperimentConfig& config);

/// Reads `min_slots_per_trial`. All else about workers and restarts, and whether the experiment is
/// a search, must be known. `may_have_more`: if no key gives the number of workers, the experiment
/// is read again once it is known.
void read_least_workers(const FieldReader& fields, bool may_have_more, Diagnostics& diagnostics,
                        ExperimentConfig& config);

}  // namespace train
