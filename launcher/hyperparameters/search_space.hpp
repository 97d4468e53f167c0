// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config_schema/search/search_parameter.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/hyperparameters/search_random.hpp"

namespace train {

/// The hyperparameters of an experiment, as a distribution of samples. All walks visit them by name
/// in byte order, with groups in place.
///
/// Samples are JSON objects of the same structure on one line, with a plain value in every place.
class SearchSpace {
 public:
  /// No hyperparameters.
  SearchSpace() : SearchSpace(SearchGroup()) {}
  explicit SearchSpace(SearchGroup group)
      : group_(std::make_shared<const SearchGroup>(std::move(group))) {}

  /// Whether any value in it is sampled.
  bool has_draws() const;

  /// One random sample. What is drawn:
  ///
  ///     int, randint           low + a whole number of 0..(high - low)
  ///     categorical, choice    the value at a whole number of 0..(n - 1)
  ///     double, uniform        uniform
  ///     log                    base to the power of a uniform exponent
  ///     loguniform             exp of a uniform logarithm
  ///     quniform               uniform between the multiples of q inside the range, then the
  ///                            nearest multiple, of two the even one
  ///     normal                 mean + deviation * normal
  ///     grid_search            nothing: the value at the point `tune_point`
  ///
  /// `tune_point` (0 .. `tune_points()` - 1): the first name varies fastest.
  std::string draw(SearchRandom& random, std::int64_t tune_point = 0) const;
  /// The number of points of all grid_search lists together, 1 if there is none; class `config`
  /// above 2^63 - 1.
  Result<std::int64_t> tune_points() const;

  /// The number of points of Determined's grid. Class `config` if there are no hyperparameters, if
  /// a range has no `count`, or if there are more than 2^63 - 1.
  Result<std::int64_t> grid_points() const;
  /// The point at a position (0 .. `grid_points()` - 1) of the list in which the last name varies
  /// fastest. Values of a range are evenly spaced, both ends included; a single value is in the
  /// middle; those of `int` are rounded, halves away from zero.
  std::string grid_point(std::int64_t position) const;

 private:
  std::shared_ptr<const SearchGroup> group_;
};

}  // namespace train
