// SPDX-License-Identifier: Apache-2.0
#include "cli/show/metric_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "launcher/search/trial_report.hpp"

namespace train {

namespace {

constexpr std::size_t most_charts = 24;
constexpr std::size_t most_reports = 200'000;  // that are read for one page

class ChartCollector {
 public:
  ChartCollector(const std::string& time_metric, const std::string& reporters)
      : words_{.metric = {}, .time_metric = time_metric}, reporters_(reporters) {}

  // Reads every `stride`-th report, and the last one.
  void add(const ReportedSeries& series, std::size_t stride) {
    std::map<std::size_t, ChartLine> lines;  // by chart
    for (std::size_t i = 0; i < series.reports.size(); ++i)
      if (i % stride == 0 || i + 1 == series.reports.size()) add_report(series, i, lines);
    for (auto& [chart, line] : lines) charts_[chart].lines.push_back(std::move(line));
  }

  std::size_t names_left_out() const { return left_out_.size(); }
  std::vector<MetricChart> take() { return std::move(charts_); }

 private:
  bool is_step(const std::string& key) const {
    return key == "step" || key == "batches" || key == words_.time_metric;
  }

  // Nothing if there are too many charts.
  std::optional<std::size_t> chart_of(const std::string& metric) {
    const auto found = numbers_.find(metric);
    if (found != numbers_.end()) return found->second;
    if (charts_.size() == most_charts) {
      left_out_.insert(metric);
      return std::nullopt;
    }
    charts_.push_back({.caption = {metric, ""},
                       .step_name = words_.time_metric.empty() ? "step" : words_.time_metric,
                       .metric_name = metric,
                       .smaller_is_better = std::nullopt,
                       .lines = {},
                       .reporters = reporters_});
    return numbers_.emplace(metric, charts_.size() - 1).first->second;
  }

  void add_report(const ReportedSeries& series, std::size_t number,
                  std::map<std::size_t, ChartLine>& lines) {
    const auto json = nlohmann::ordered_json::parse(series.reports[number], nullptr, false);
    if (!json.is_object()) return;
    const auto step = read_trial_report(json, words_, static_cast<std::int64_t>(number) + 1).step;
    if (!step) return;
    for (const auto& [key, value] : json.items()) {
      if (!value.is_number() || is_step(key)) continue;
      const auto metric = value.get<double>();
      if (!std::isfinite(metric)) continue;
      const auto chart = chart_of(key);
      if (!chart) continue;
      ChartLine& line = lines[*chart];
      if (line.points.empty()) {
        line.name = series.name;
        line.remark = series.remark;
        line.kind = series.kind;
      }
      line.points.push_back({*step, metric});
    }
  }

  ReportWords words_;
  std::string reporters_;
  std::vector<MetricChart> charts_;
  std::map<std::string, std::size_t> numbers_;
  std::set<std::string> left_out_;
};

}  // namespace

MetricCharts charts_of(const std::vector<ReportedSeries>& series, const std::string& time_metric,
                       const std::string& reporters) {
  std::size_t reports = 0;
  for (const ReportedSeries& each : series) reports += each.reports.size();
  const std::size_t stride = reports / most_reports + 1;
  ChartCollector collector(time_metric, reporters);
  for (const ReportedSeries& each : series) collector.add(each, stride);
  MetricCharts charts{.charts = collector.take(), .remark = {}};
  if (stride > 1)
    charts.remark = fmt::format("Of {} reports, one in {} is drawn. ", reports, stride);
  if (collector.names_left_out() > 0)
    charts.remark += fmt::format("{} more metrics are left out.", collector.names_left_out());
  return charts;
}

}  // namespace train
