// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// A hyperparameter whose value a search chooses.
struct SearchedParameter {
  std::string path;  ///< "hyperparameters.lr"
  std::string type;  ///< "int", "double", "log" or "categorical"
  Place place;       ///< of the type
  /// Values that a grid search takes of it, at most as many as a range of whole numbers has.
  std::int64_t points = 1;
};

/// Hyperparameters after Determined's rules: plain values, `{type: const, val: V}` as V, and apart
/// from them those that are searched, which `plain` leaves out.
struct Hyperparameters {
  YamlNodePtr plain;
  std::vector<SearchedParameter> searched;
  /// Ranges without `count`, also those in lists, which a grid search refuses.
  std::vector<SearchedParameter> uncounted;
};

/// Reads the mapping under `hyperparameters:` of any depth. A mapping with a `type` is one
/// hyperparameter and has the keys of `hyperparameter_fields()`.
Hyperparameters read_hyperparameters(const YamlNode& mapping, Diagnostics& diagnostics);

/// How many trials the experiment has, and how many may run at once.
SearchSize read_search_size(const FieldReader& fields,
                            const std::vector<SearchedParameter>& searched,
                            const ExperimentConfig& config, Diagnostics& diagnostics);

/// Numbers that JSON cannot carry (NaN, infinities, overflow) become errors.
void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics);

}  // namespace train
