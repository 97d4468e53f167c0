// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/metric_value.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace train {

using nlohmann::json;

bool is_better(const SearchSettings& settings, double metric, double than) {
  return settings.smaller_is_better ? metric < than : metric > than;
}

json json_of_metric(double metric) {
  if (std::isnan(metric)) return nullptr;
  if (std::isinf(metric)) return metric > 0 ? "Infinity" : "-Infinity";
  return metric;
}

std::optional<double> metric_of_json(const json& value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value.is_null() || value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return infinity;
  if (value == "-Infinity") return -infinity;
  return std::nullopt;
}

json json_of_step(double step) {
  constexpr double exact = 9'007'199'254'740'992.0;  // 2^53: above, not every whole number is one
  if (std::trunc(step) == step && std::abs(step) <= exact) return static_cast<std::int64_t>(step);
  return step;
}

}  // namespace train
