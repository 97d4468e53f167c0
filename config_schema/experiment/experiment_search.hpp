// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/search/hyperparameters.hpp"
#include "config_schema/text/diagnostics.hpp"

namespace train {

/// Whether the experiment is a search in Ray Tune's form: with a `tune_config`, or with one of its
/// keys or `param_space` at the top.
bool speaks_of_tune(const FieldReader& fields);

/// Reads the search and its number of trials: fills `search_config`, `search`, `searcher` and
/// `searched`. `config.slots` must be known. `hyperparameters` are those under that key; if Tune's
/// `param_space` is given, it replaces them.
void read_search(const FieldReader& fields, Hyperparameters& hyperparameters,
                 Diagnostics& diagnostics, ExperimentConfig& config);

}  // namespace train
