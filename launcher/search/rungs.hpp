// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config_schema/search/search_settings.hpp"
#include "launcher/search/sorted_metrics.hpp"

namespace train {

/// Which rungs of its bracket a trial has entered: as bits, the lowest rung in the lowest bit, or
/// as a count, depending on the bracket's class. 0: none.
using EnteredRungs = std::uint64_t;

/// The decision when a report enters a rung.
struct RungVerdict {
  /// From 0, the lowest; nothing: the maximum length is reached, which is not a rung.
  std::optional<int> rung;
  bool stops = false;
  bool is_complete = false;  ///< it stops because it has reached the top

  bool operator==(const RungVerdict&) const = default;
};

/// The rungs of one bracket in Determined's asynchronous halving, in the variant that stops trials.
/// Smaller metrics are better here; callers negate metrics for which larger is better.
///
/// A report enters rung after rung, as far as its step reaches, and is inserted among the metrics
/// there, before equal ones. The trial continues while it is among the best `size / divisor` (at
/// least one), and stops at the top.
class HalvingRungs {
 public:
  /// `needs`: as returned by `rung_needs`.
  HalvingRungs(std::vector<std::int64_t> needs, double divisor)
      : needs_(std::move(needs)), divisor_(divisor), metrics_(needs_.size()) {}

  /// `entered` counts the trial's rungs so far. The result is empty if the trial has reached no new
  /// rung. The step is truncated to a whole number.
  std::vector<RungVerdict> report(EnteredRungs& entered, double step, double metric);
  /// For a failed trial: its next rung gets the worst finite metric.
  void add_failure(EnteredRungs entered);
  void remove(int rung, double metric) { metrics_[static_cast<std::size_t>(rung)].remove(metric); }

  const std::vector<SortedMetrics>& metrics() const { return metrics_; }
  /// Restores metrics in the order of `metrics`; false if they are not in order.
  bool restore(std::size_t rung, double metric) { return metrics_[rung].append(metric); }

 private:
  std::vector<std::int64_t> needs_;
  double divisor_;
  std::vector<SortedMetrics> metrics_;  ///< by rung
};

/// The rungs of one bracket in Ray Tune's ASHAScheduler. Larger metrics are better here.
///
/// A report enters only the highest rung that its step reaches and that the trial has not entered,
/// and the trial stops if the metric is worse than the quantile 1 - 1/factor of those recorded
/// there before.
class TuneRungs {
 public:
  /// Bracket `number` begins at grace_period * factor^number.
  TuneRungs(const TuneAshaSettings& settings, int number);

  /// `entered` has a bit for each rung.
  std::vector<RungVerdict> report(EnteredRungs& entered, double step, double metric);
  void remove(int rung, double metric) { metrics_[static_cast<std::size_t>(rung)].remove(metric); }

  const std::vector<double>& needs() const { return needs_; }
  const std::vector<SortedMetrics>& metrics() const { return metrics_; }
  bool restore(std::size_t rung, double metric) { return metrics_[rung].append(metric); }

 private:
  bool is_worse(const SortedMetrics& recorded, double metric) const;

  double max_t_;
  double quantile_;
  std::vector<double> needs_;
  std::vector<SortedMetrics> metrics_;  ///< by rung
};

}  // namespace train
