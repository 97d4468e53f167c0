// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace train {

/// What a search reads in the reports of its trials.
struct ReportWords {
  std::string metric;       ///< the key by which trials are compared
  std::string time_metric;  ///< the key that counts time; empty: the usual ones
};

/// A report as far as a search decides by it.
struct TrialReport {
  bool says_invalid = false;  ///< `{"invalid_hp": true}`: the hyperparameters make no sense
  /// Both are there, or it decides nothing. The step is finite, the metric any double.
  std::optional<double> step;
  std::optional<double> metric;

  bool decides() const { return step && metric; }
  bool operator==(const TrialReport&) const = default;
};

/// Reads an object of a metrics file. The step is the value under `time_metric`, or under `step`,
/// which `train report --step` writes; without a `time_metric` under `step`, `batches`, or else
/// `count`, the number of the trial's reports with this one; that also stands for a
/// `training_iteration` that is missing. A metric may be NaN (null) or infinite
/// (the text "Infinity"), a step may not.
TrialReport read_trial_report(const nlohmann::json& report, const ReportWords& words,
                              std::int64_t count);

}  // namespace train
