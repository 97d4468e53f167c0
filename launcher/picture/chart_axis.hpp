// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// A labelled number on an axis.
struct Tick {
  double value = 0;
  std::string label;  ///< "0.25", "2e7"
};

/// Maps numbers to positions on an axis from the smallest to the largest of them.
class ChartAxis {
 public:
  /// For steps of training: starts at 0, unless some are negative; ticks are whole numbers if
  /// `are_whole`.
  static ChartAxis of_steps(double least, double most, bool are_whole);
  /// For metrics: logarithmic if all are positive and span more than two decades.
  static ChartAxis of_metrics(double least, double most);

  bool is_logarithmic() const { return is_logarithmic_; }
  /// 0 for the smallest number, 1 for the largest. On a logarithmic axis all must be positive.
  double place(double value) const;
  /// Ascending, one to ten ticks.
  std::vector<Tick> ticks() const;

 private:
  ChartAxis(double least, double most, bool is_logarithmic);
  std::vector<Tick> even_ticks() const;
  std::vector<Tick> decade_ticks() const;

  // long double: the distance of two doubles may overflow a double.
  long double least_ = 0;
  long double most_ = 1;
  bool is_logarithmic_ = false;
  bool are_whole_ = false;
};

}  // namespace train
