// SPDX-License-Identifier: Apache-2.0
#include "cli/show/search_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "cli/show/search_of_task.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/search/metric_value.hpp"

namespace train {

LineKind line_kind(TrialState state) {
  switch (state) {
    case TrialState::waiting:
    case TrialState::running:
      return LineKind::running;
    case TrialState::succeeded:
      return LineKind::succeeded;
    case TrialState::stopping:
    case TrialState::stopped:
      return LineKind::stopped;
    case TrialState::failed:
    case TrialState::invalid:
    case TrialState::killed:
      return LineKind::failed;
  }
  return LineKind::failed;
}

namespace {

std::string report_text(const SearchConfig& config, const BestReport& report) {
  return fmt::format("{} {:.6g} at step {:.15g}", config.metric, report.metric, report.step);
}

std::string varied_text_of(const SearchConfig& config, const TrialRecord& trial) {
  const std::string varied = varied_text(varied_values(config.space, trial.hyperparameters_json));
  return varied.empty() ? "" : ": " + varied;
}

// Leaves out values that a chart cannot show.
std::vector<ChartPoint> points_of(const TrialRecord& trial) {
  std::vector<ChartPoint> points;
  for (const KeptReport& report : trial.reports)
    if (report.step && std::isfinite(*report.step) && std::isfinite(report.metric))
      points.push_back({*report.step, report.metric});
  return points;
}

// "stopped, best loss 0.4 at step 16 of 5 reports: lr 0.01, layers 3"
std::string remark_of(const SearchConfig& config, const TrialRecord& trial) {
  std::string text(trial_states().row(trial.state).name);
  if (trial.best) text += ", best " + report_text(config, *trial.best);
  text +=
      fmt::format(" of {} report{}", trial.reports.size(), trial.reports.size() == 1 ? "" : "s");
  return text + varied_text_of(config, trial);
}

// The trials in the order of the chart.
std::vector<const TrialRecord*> ordered(const SearchRecord& search,
                                        const std::optional<BestReport>& best) {
  std::vector<const TrialRecord*> trials;
  trials.reserve(search.trials.size());
  for (const TrialRecord& trial : search.trials) trials.push_back(&trial);
  const double sign = search.config.settings.smaller_is_better ? 1 : -1;
  const auto rank = [&](const TrialRecord& trial) {
    return std::tuple(!best || trial.trial != best->trial,
                      line_kind(trial.state) != LineKind::running, !trial.best,
                      trial.best ? sign * trial.best->metric : 0.0, trial.trial);
  };
  std::sort(trials.begin(), trials.end(),
            [&](const TrialRecord* a, const TrialRecord* b) { return rank(*a) < rank(*b); });
  return trials;
}

PictureCaption caption_of(const TaskRecord& task, const SearchRecord& search, std::size_t reported,
                          const std::optional<BestReport>& best) {
  const std::size_t trials = search.trials.size();
  std::string subtitle;
  if (best)
    subtitle = fmt::format(
        "best: trial {}, {}{}", best->trial, report_text(search.config, *best),
        varied_text_of(search.config, search.trials[static_cast<std::size_t>(best->trial)]));
  if (reported < trials)
    subtitle += fmt::format("{}{} of the trials have reported nothing to draw",
                            subtitle.empty() ? "" : "; ", trials - reported);
  return {.title = fmt::format("{}: {} of {} trial{}", task.name, search.config.metric, trials,
                               trials == 1 ? "" : "s"),
          .subtitle = std::move(subtitle)};
}

}  // namespace

Result<MetricChart> chart_of(const TaskRecord& task, const SearchRecord& search) {
  const SearchConfig& config = search.config;
  auto best = best_of(search);
  if (best && !std::isfinite(best->metric)) best.reset();
  MetricChart chart{.caption = {},
                    .step_name = config.time_metric.empty() ? "step" : config.time_metric,
                    .metric_name = config.metric,
                    .smaller_is_better = config.settings.smaller_is_better,
                    .lines = {}};
  for (const TrialRecord* trial : ordered(search, best))
    if (auto points = points_of(*trial); !points.empty())
      chart.lines.push_back({.name = fmt::format("trial {}", trial->trial),
                             .remark = remark_of(config, *trial),
                             .kind = line_kind(trial->state),
                             .points = std::move(points)});
  if (chart.lines.empty()) return tl::make_unexpected(no_report(task, search));
  if (best) chart.best = ChartPoint{best->step, best->metric};
  chart.caption = caption_of(task, search, chart.lines.size(), best);
  return chart;
}

}  // namespace train
