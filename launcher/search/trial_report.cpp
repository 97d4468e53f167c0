// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "launcher/search/metric_value.hpp"

namespace train {

using nlohmann::json;

namespace {

// NaN and infinities are not valid steps.
std::optional<double> step_under(const json& report, const std::string& key) {
  const auto found = report.find(key);
  if (found == report.end() || !found->is_number()) return std::nullopt;
  const double step = found->get<double>();
  if (!std::isfinite(step)) return std::nullopt;
  return step;
}

std::optional<double> step_of(const json& report, const std::string& time_metric,
                              std::int64_t count) {
  if (!time_metric.empty()) {
    auto step = step_under(report, time_metric);
    if (!step) step = step_under(report, "step");
    const bool counts_reports = time_metric == "training_iteration";  // Tune adds it to each report
    return step || !counts_reports ? step : static_cast<double>(count);
  }
  for (const char* key : {"step", "batches"})
    if (const auto step = step_under(report, key)) return step;
  return static_cast<double>(count);
}

}  // namespace

TrialReport read_trial_report(const json& report, const ReportWords& words, std::int64_t count) {
  TrialReport read;
  if (!report.is_object()) return read;
  const auto invalid = report.find("invalid_hp");
  read.says_invalid = invalid != report.end() && *invalid == true;
  read.step = step_of(report, words.time_metric, count);
  const auto metric = report.find(words.metric);
  if (metric != report.end()) read.metric = metric_of_json(*metric);
  return read;
}

}  // namespace train
