// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/quantity.hpp"

#include <fmt/format.h>

#include <cmath>

namespace train {

std::optional<Quantity> Quantity::from_double(double value) {
  constexpr double largest = 1e12;
  if (std::isnan(value) || value < 0 || value > largest) return std::nullopt;
  const auto parts = static_cast<std::int64_t>(std::llround(value * scale));
  const bool too_small_to_keep = value > 0 && value < 1.0 / scale;
  if (too_small_to_keep) return std::nullopt;
  return Quantity(parts);
}

std::string to_string(Quantity quantity) {
  const std::int64_t fraction = quantity.parts() % Quantity::scale;
  if (fraction == 0) return fmt::format("{}", quantity.whole());
  std::string digits = fmt::format("{:04}", fraction);
  digits.erase(digits.find_last_not_of('0') + 1);
  return fmt::format("{}.{}", quantity.whole(), digits);
}

}  // namespace train
