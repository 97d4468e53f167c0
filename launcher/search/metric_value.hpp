// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config_schema/search/search_settings.hpp"

namespace train {

/// Whether a metric is better than another one, as the settings compare them; NaN is not.
bool is_better(const SearchSettings& settings, double metric, double than);

/// A metric as JSON can carry it: NaN as null, infinities as the texts "Infinity" and "-Infinity",
/// like `metrics_of_line` writes them.
nlohmann::json json_of_metric(double metric);

/// What `json_of_metric` writes, any other number, and the text "NaN"; nothing for other values.
std::optional<double> metric_of_json(const nlohmann::json& value);

/// A step in JSON: a whole number where it is one.
nlohmann::json json_of_step(double step);

}  // namespace train
