// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config_schema/search/search_settings.hpp"
#include "launcher/search/sorted_metrics.hpp"

namespace train {

/// Which rungs of its bracket a trial has entered, the lowest in the lowest bit or as a count: what
/// the bracket's class makes of it. 0: none.
using EnteredRungs = std::uint64_t;

/// What is decided when a report enters a rung.
struct RungVerdict {
  std::optional<int> rung;  ///< from 0, the lowest; nothing: the length is reached, in no rung
  bool stops = false;
  bool is_complete = false;  ///< it stops because there is nothing left to reach

  bool operator==(const RungVerdict&) const = default;
};

/// The rungs of one bracket after Determined's asynchronous halving, in the form that stops trials.
/// Metrics are the smaller the better here; who has them the other way round negates them.
///
/// A report goes from rung to rung, as far as its step reaches, and is put among the metrics there,
/// before equal ones. It goes on while it is among the best `size / divisor` (at least one), and
/// stops at the top.
class HalvingRungs {
 public:
  /// `needs`: as `rung_needs` has them.
  HalvingRungs(std::vector<std::int64_t> needs, double divisor)
      : needs_(std::move(needs)), divisor_(divisor), metrics_(needs_.size()) {}

  /// `entered` counts the trial's rungs so far. None: it had reached nothing new. The step is cut
  /// to a whole number.
  std::vector<RungVerdict> report(EnteredRungs& entered, double step, double metric);
  /// The trial has failed: the rung that it was heading for gets the worst of all finite metrics.
  void add_failure(EnteredRungs entered);
  void remove(int rung, double metric) { metrics_[static_cast<std::size_t>(rung)].remove(metric); }

  const std::vector<SortedMetrics>& metrics() const { return metrics_; }
  /// Puts metrics back in the order of `metrics`; false when this is not their order.
  bool restore(std::size_t rung, double metric) { return metrics_[rung].append(metric); }

 private:
  std::vector<std::int64_t> needs_;
  double divisor_;
  std::vector<SortedMetrics> metrics_;  ///< by rung
};

/// The rungs of one bracket after Ray Tune's ASHAScheduler. Metrics are the larger the better here.
///
/// A report enters only the highest rung that its step reaches and the trial is not in, and stops
/// when it is worse than the quantile 1 - 1/factor of what was recorded there before.
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
