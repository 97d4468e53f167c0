// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/picture/svg_page.hpp"

namespace train {

/// What a trial reported. Both are finite.
struct ChartPoint {
  double step = 0;
  double metric = 0;

  bool operator==(const ChartPoint&) const = default;
};

/// What has become of a trial, as far as a chart tells it.
enum class LineKind { running, succeeded, stopped, failed };

/// One trial.
struct ChartLine {
  std::string name;    ///< "trial 7"
  std::string remark;  ///< what else is shown on pointing: "stopped, 5 reports"
  LineKind kind = LineKind::running;
  std::vector<ChartPoint> points;  ///< as they were reported; at least one
};

/// A metric over steps.
struct MetricChart {
  PictureCaption caption;
  std::string step_name;
  std::string metric_name;
  bool smaller_is_better = true;
  std::vector<ChartLine> lines;         ///< at least one; those that matter most first
  std::optional<ChartPoint> best = {};  ///< of the first line, which is highlighted for it
};

/// The points in the order of their steps, of each step the last that was reported, and fewer where
/// they are more than about `most`: of those that are next to each other the first, the least,
/// the largest and the last, so that the line looks the same.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

/// The chart as an SVG document like that of `picture_to_svg`: a line for each trial, axes with
/// names and ticks, the best trial named, and a legend of what has become of the others. A line
/// says on pointing whose it is, of the first 1,000; those behind them are drawn as one, 10,000 at
/// most. The document has at most 2 MB. Class `trial` with `data-trials` marks every line.
std::string chart_to_svg(const MetricChart& chart);

}  // namespace train
