// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config_schema/search/search_settings.hpp"

namespace train {

/// Whether a metric is better than another one, as the settings compare them; NaN is never better.
bool is_better(const SearchSettings& settings, double metric, double than);

/// A metric in JSON: NaN as null, infinities as the texts "Infinity" and "-Infinity", as in
/// `metrics_of_line`.
nlohmann::json json_of_metric(double metric);

/// Reads what `json_of_metric` writes, any other number, and the text "NaN"; nothing for other
/// values.
std::optional<double> metric_of_json(const nlohmann::json& value);

/// A step in JSON: as a whole number if it is one.
nlohmann::json json_of_step(double step);

}  // namespace train
