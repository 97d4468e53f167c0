// SPDX-License-Identifier: Apache-2.0
#pragma once
// Charts of searches that were never run.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/picture/metric_chart.hpp"

namespace train {

/// As many trials as a halving search leaves: half of the trials report once, half of the others
/// twice as long, and so on up to `most_reports`. The metrics span three decades.
inline MetricChart some_chart(int trials, int most_reports) {
  constexpr LineKind ends[] = {LineKind::stopped, LineKind::stopped, LineKind::failed,
                               LineKind::stopped, LineKind::running};
  MetricChart chart{.caption = {fmt::format("search: loss of {} trials", trials), ""},
                    .step_name = "batches",
                    .metric_name = "loss",
                    .lines = {}};
  for (int trial = 0; trial < trials; ++trial) {
    int reports = 1;
    for (int half = trial; half % 2 == 0 && reports < most_reports; half /= 2) reports *= 2;
    if (trial == 0) reports = most_reports;
    ChartLine line{.name = fmt::format("trial {}", trial),
                   .remark = fmt::format("of {} reports: lr {:.4g}", reports, 0.1 / (trial + 1)),
                   .kind = trial == 0 ? LineKind::succeeded : ends[trial % 5],
                   .points = {}};
    for (int step = 1; step <= reports; ++step)
      line.points.push_back(
          {double(step), (1 + trial % 97) * (1.2 + std::sin(step * (trial + 1))) / (1 + step)});
    chart.lines.push_back(std::move(line));
  }
  const std::vector<ChartPoint>& first = chart.lines.front().points;
  chart.best = *std::min_element(
      first.begin(), first.end(),
      [](const ChartPoint& a, const ChartPoint& b) { return a.metric < b.metric; });
  return chart;
}

}  // namespace train
