// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/search/search_settings.hpp"

namespace train {

/// A search: its trials, and what they report.
struct SearchConfig {
  SearchSettings settings;
  SearchGroup space;        ///< all hyperparameters, including those with one value
  std::string metric;       ///< the reported key by which trials are compared; empty: none
  std::string time_metric;  ///< the reported key that counts time; empty: the usual ones
  /// Time from the first start of a trial until all trials are stopped. Nothing: no limit.
  std::optional<std::chrono::milliseconds> time_budget = {};

  bool operator==(const SearchConfig&) const = default;
};

}  // namespace train
