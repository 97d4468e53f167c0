// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_reader.hpp"

namespace train {

/// The needs of a trial from Ray Tune's `resources_per_trial`.
struct TrialResources {
  const GivenValue* given = nullptr;
  int workers = 1;
  Amounts worker;                  ///< of each worker
  std::optional<Amounts> trainer;  ///< beside the workers: the first of several bundles
  std::optional<PlacementPolicy> placement;
};

/// Reads `resources_per_trial`: a mapping of names to amounts is the need of one worker; in a list
/// of such mappings, also under `bundles`, the first is the trainer's, and each other one a
/// worker's. `cpu` and `gpu` may be in capitals. Nothing if the key is missing, or invalid, which
/// is reported in `diagnostics`.
std::optional<TrialResources> read_trial_resources(const FieldReader& fields,
                                                   Diagnostics& diagnostics);

}  // namespace train
