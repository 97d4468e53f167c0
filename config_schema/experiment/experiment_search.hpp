// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/search/hyperparameters.hpp"
#include "config_schema/text/diagnostics.hpp"

namespace train {

/// Whether the experiment is a search in Ray Tune's words: in a `tune_config`, or with one of its
/// keys or `param_space` at the top.
bool speaks_of_tune(const FieldReader& fields);

/// Reads what the experiment searches, and how many trials that makes: fills `search_config`,
/// `search`, `searcher` and `searched`. `config.slots` must be known. `hyperparameters` are those
/// of that name; where Tune's `param_space` is given, its take their place.
void read_search(const FieldReader& fields, Hyperparameters& hyperparameters,
                 Diagnostics& diagnostics, ExperimentConfig& config);

}  // namespace train
