// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Decides how many workers the trial has and what each takes, from slots_per_trial (Determined),
/// num_workers, use_gpu and resources_per_worker (Ray): fills `workers`, `needs` and `slots`. What
/// contradicts itself becomes an error that names both values.
void read_workers(const FieldReader& fields, Diagnostics& diagnostics, ExperimentConfig& config);

}  // namespace train
