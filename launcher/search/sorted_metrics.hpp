// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace train {

/// Metrics in ascending order, with NaN values, which count as equal, at the end. Finding a
/// position, inserting and removing take time proportional to the square root of their number.
class SortedMetrics {
 public:
  /// Inserts the metric and returns its position: before equal ones, but NaN at the very end.
  std::size_t insert(double metric);
  /// Appends it at the end, in the order of `all`; false if it does not belong there.
  bool append(double metric);
  /// Removes one that is equal, if there is any.
  void remove(double metric);
  std::size_t size() const { return numbers_ + nans_; }
  /// The number of metrics that are not NaN.
  std::size_t numbers() const { return numbers_; }
  /// The metric at a position below `numbers()`.
  double at(std::size_t position) const;
  /// All metrics in order.
  std::vector<double> all() const;

 private:
  // No chunk is empty; one that grows too long is split in two.
  std::vector<std::vector<double>> chunks_;
  std::size_t numbers_ = 0;
  std::size_t nans_ = 0;
};

}  // namespace train
