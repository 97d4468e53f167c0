// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/fields/field_reader.hpp"
#include "config_schema/search/hyperparameters.hpp"
#include "config_schema/text/diagnostics.hpp"

namespace train {

/// Determined's rules for combinations of keys: epochs need records_per_epoch, a grid search needs
/// counts, lengths of a search, storage paths, Azure's two logins, ...
void check_experiment_rules(const FieldReader& fields, const Hyperparameters& hyperparameters,
                            Diagnostics& diagnostics);

}  // namespace train
