// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/experiment/hyperparameters.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// What Ray's scaling configuration asks of hosts beyond the amounts of a worker: the trainer's
/// resources, the labels of hosts, and TPU slices. `config.workers` must be known.
void read_scaling_needs(const FieldReader& fields, Diagnostics& diagnostics,
                        ExperimentConfig& config);

/// How many trials the experiment has, and how many may run at once.
SearchSize read_search_size(const FieldReader& fields,
                            const std::vector<SearchedParameter>& searched,
                            const ExperimentConfig& config, Diagnostics& diagnostics);

}  // namespace train
