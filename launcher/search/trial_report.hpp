// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace train {

/// The keys that a search reads in the reports of its trials.
struct ReportWords {
  std::string metric;       ///< the key by which trials are compared
  std::string time_metric;  ///< the key that counts time; empty: the usual ones
};

/// The parts of a report that a search uses.
struct TrialReport {
  bool says_invalid = false;  ///< `{"invalid_hp": true}`: the hyperparameters are not usable
  /// The report counts only if both are present. The step is finite, the metric any double.
  std::optional<double> step;
  std::optional<double> metric;

  bool decides() const { return step && metric; }
  bool operator==(const TrialReport&) const = default;
};

/// Reads an object of a metrics file. The step is the value under `time_metric`, or under `step`,
/// which `train report --step` writes; without a `time_metric` it is under `step`, `batches`, or
/// else `count`, the number of the trial's reports including this one; that also replaces a missing
/// `training_iteration`. A metric may be NaN (null) or infinite (the text "Infinity"), a step may
/// not.
TrialReport read_trial_report(const nlohmann::json& report, const ReportWords& words,
                              std::int64_t count);

}  // namespace train
