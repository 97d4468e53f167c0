// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train {

/// A hyperparameter whose value a search chooses.
struct SearchedParameter {
  std::string path;  ///< "hyperparameters.lr"
  std::string type;  ///< "int", "double", "log" or "categorical"; for Tune: "uniform", ...
  Place place;       ///< of the type
};

/// Hyperparameters, including the searched ones.
struct Hyperparameters {
  SearchGroup space;
  /// Plain values, and `{type: const, val: V}` as V; without searched ones.
  YamlNodePtr plain;
  std::vector<SearchedParameter> searched;
  /// Ranges without `count`, also those in lists, which Determined's grid search refuses.
  std::vector<SearchedParameter> uncounted;
};

/// Reads the mapping under `hyperparameters:`, of any depth. A mapping with a `type` is one
/// hyperparameter and has the keys of `hyperparameter_fields()`; any other is a group. A list is a
/// plain value, whatever it contains. Invalid entries are left out.
Hyperparameters read_hyperparameters(const YamlNode& mapping, Diagnostics& diagnostics);

/// Reads the mapping under Ray Tune's `param_space:`. A mapping with one key of `uniform`,
/// `loguniform`, `quniform`, `randint`, `choice`, `normal` and `grid_search` is one hyperparameter,
/// and so is one whose `type` is one of Determined's kinds; any other is a group.
Hyperparameters read_param_space(const YamlNode& mapping, Diagnostics& diagnostics);

/// Reports numbers that JSON cannot represent (NaN, infinities, overflow) as errors.
void check_for_json(const YamlNode& node, const std::string& path, Diagnostics& diagnostics);

}  // namespace train
