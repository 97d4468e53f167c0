// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace train {

/// A number that an axis names.
struct Tick {
  double value = 0;
  std::string label;  ///< "0.25", "2e7"
};

/// Where numbers stand on an axis that reaches from the least of them to the largest.
class ChartAxis {
 public:
  /// Steps of training: from 0, unless some are negative; ticks are whole where `are_whole`.
  static ChartAxis of_steps(double least, double most, bool are_whole);
  /// Metrics: logarithmic where all are positive and span more than two decades.
  static ChartAxis of_metrics(double least, double most);

  bool is_logarithmic() const { return is_logarithmic_; }
  /// 0 for the least number, 1 for the largest. Those of a logarithmic axis are positive.
  double place(double value) const;
  /// Ascending, at least one and ten at most.
  std::vector<Tick> ticks() const;

 private:
  ChartAxis(double least, double most, bool is_logarithmic);
  std::vector<Tick> even_ticks() const;
  std::vector<Tick> decade_ticks() const;

  // Doubles may lie further apart than a double can say.
  long double least_ = 0;
  long double most_ = 1;
  bool is_logarithmic_ = false;
  bool are_whole_ = false;
};

}  // namespace train
