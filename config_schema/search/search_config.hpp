// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/search/search_settings.hpp"

namespace train {

/// A search: which trials an experiment has, and what they report.
struct SearchConfig {
  SearchSettings settings;
  SearchGroup space;        ///< all hyperparameters, also those with one value
  std::string metric;       ///< the key of reports by which trials are compared; empty: none
  std::string time_metric;  ///< the key that counts time; empty: the usual ones
  /// From the first start of a trial, after which all are stopped. Nothing: any.
  std::optional<std::chrono::milliseconds> time_budget = {};

  bool operator==(const SearchConfig&) const = default;
};

}  // namespace train
