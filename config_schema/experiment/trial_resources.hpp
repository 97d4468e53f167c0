// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// What a trial takes after Ray Tune's `resources_per_trial`.
struct TrialResources {
  const GivenValue* given = nullptr;
  int workers = 1;
  Amounts worker;                  ///< of each
  std::optional<Amounts> trainer;  ///< beside them: the first of several bundles
  std::optional<PlacementPolicy> placement;
};

/// Reads `resources_per_trial`: a mapping of names to amounts is what one worker takes; of a list
/// of such mappings, also under `bundles`, the first is the trainer's, and each other one a
/// worker's. `cpu` and `gpu` may be written in capitals. Nothing: the key is missing, or wrong, as
/// diagnostics say.
std::optional<TrialResources> read_trial_resources(const FieldReader& fields,
                                                   Diagnostics& diagnostics);

}  // namespace train
