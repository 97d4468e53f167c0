// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "config_schema/experiment/hyperparameters.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// Determined's rules between the keys of an experiment: epochs need records_per_epoch, a grid
/// search needs counts, lengths of a search, storage paths, Azure's two logins, ... `uncounted` are
/// the ranges without a count (see `Hyperparameters`).
void check_experiment_rules(const FieldReader& fields, std::span<const SearchedParameter> uncounted,
                            Diagnostics& diagnostics);

}  // namespace train
