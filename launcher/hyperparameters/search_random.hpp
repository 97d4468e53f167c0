// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "config_schema/text/error.hpp"

namespace train {

/// The random numbers of a search: those of numpy's legacy `RandomState`, which Determined uses, so
/// that the same seed gives the same trials. The words are those of MT19937 (Matsumoto and
/// Nishimura, 1998), initialised from one number by the recurrence of 2002.
class SearchRandom {
 public:
  explicit SearchRandom(std::uint32_t seed);

  std::uint32_t word();
  /// In [0, 1), with 53 random bits: takes two words.
  double unit();
  /// Between the two, from one `unit`.
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// A whole number from 0 to `most`, both included. Draws words until one fits, two at once from
  /// `most` = 2^32 on; none for 0.
  std::uint64_t whole(std::uint64_t most);
  /// Normally distributed with mean 0 and deviation 1, by the polar method. Two values are made at
  /// once; the second is kept for the next call.
  double normal();

  /// The complete state, and the generator that continues from it; class `no_input` if it is not a
  /// state.
  nlohmann::json snapshot() const;
  static Result<SearchRandom> restored(const nlohmann::json& snapshot);

  bool operator==(const SearchRandom&) const = default;

 private:
  static constexpr std::size_t size = 624;

  void refill();

  std::array<std::uint32_t, size> words_{};
  std::size_t next_ = size;
  std::optional<double> kept_normal_;
};

}  // namespace train
