// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Reads where checkpoints go (Determined's `checkpoint_storage`) into `config.checkpoints`, and
/// the number of restarts of a trial if the file leaves it to Determined's default. Keys that
/// contradict each other, and a folder without a path, are errors.
void read_checkpoint_storage(const FieldReader& fields, Diagnostics& diagnostics,
                             ExperimentConfig& config);

}  // namespace train
