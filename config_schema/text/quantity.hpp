// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace train {

/// An amount of a resource (GPUs, CPUs, custom units) in fixed point of 1/10000, so that sums of
/// fractions are exact: ten times 0.1 is 1. Ray's smallest fraction is also 0.0001.
class Quantity {
 public:
  static constexpr std::int64_t scale = 10'000;

  constexpr Quantity() = default;
  /// A whole number of units.
  static constexpr Quantity of(std::int64_t units) { return Quantity(units * scale); }
  /// Rounds to the nearest ten-thousandth. Nothing for NaN, infinities, negative numbers, numbers
  /// above 10^12, and for values between 0 and 0.0001, which would round to "none".
  static std::optional<Quantity> from_double(double value);

  constexpr std::int64_t parts() const { return parts_; }
  constexpr bool is_whole() const { return parts_ % scale == 0; }
  constexpr bool is_zero() const { return parts_ == 0; }
  /// Whole units, rounded down.
  constexpr std::int64_t whole() const { return parts_ / scale; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(parts_ + other.parts_); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(parts_ - other.parts_); }
  constexpr Quantity operator*(std::int64_t factor) const { return Quantity(parts_ * factor); }

 private:
  constexpr explicit Quantity(std::int64_t parts) : parts_(parts) {}
  std::int64_t parts_ = 0;
};

/// Shortest decimal form: "4", "0.25".
std::string to_string(Quantity quantity);

}  // namespace train
