// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/search/search_parameter.hpp"

namespace train {

/// A searched hyperparameter, and its value in one trial.
struct VariedValue {
  std::string name;  ///< "optimizer.lr"
  std::string text;  ///< for people: real numbers with 4 digits, text without quotes, else JSON

  bool operator==(const VariedValue&) const = default;
};

/// All values of one trial, in the order of the space.
std::vector<VariedValue> varied_values(const SearchGroup& space,
                                       const std::string& hyperparameters_json);

/// "optimizer.lr 0.01, layers 3"; not escaped.
std::string varied_text(const std::vector<VariedValue>& varied);

}  // namespace train
