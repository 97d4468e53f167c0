// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace train {

/// Metrics in ascending order, with NaN, of which all are alike, behind everything else. Finding a
/// place, inserting and removing take time with the square root of their number.
class SortedMetrics {
 public:
  /// The position that it takes: before equal ones, but behind all others when it is NaN.
  std::size_t insert(double metric);
  /// Puts it behind all others, as `all` has them; false when it does not belong there.
  bool append(double metric);
  /// Takes out one that is equal, if there is any.
  void remove(double metric);
  std::size_t size() const { return numbers_ + nans_; }
  /// Those that are not NaN.
  std::size_t numbers() const { return numbers_; }
  /// The one at a position below `numbers()`.
  double at(std::size_t position) const;
  /// All of them in order.
  std::vector<double> all() const;

 private:
  // None is empty; a list that grows too long is cut in two.
  std::vector<std::vector<double>> chunks_;
  std::size_t numbers_ = 0;
  std::size_t nans_ = 0;
};

}  // namespace train
