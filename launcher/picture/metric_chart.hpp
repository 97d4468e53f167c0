// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/picture/svg_page.hpp"

namespace train {

/// One report of a trial. Both values are finite.
struct ChartPoint {
  double step = 0;
  double metric = 0;

  bool operator==(const ChartPoint&) const = default;
};

/// The state of a trial or rank, as a chart shows it.
enum class LineKind { running, succeeded, stopped, failed };

/// One trial, or one rank.
struct ChartLine {
  std::string name;    ///< "trial 7"
  std::string remark;  ///< also shown when the pointer is over it: "stopped, 5 reports"
  LineKind kind = LineKind::running;
  std::vector<ChartPoint> points;  ///< in the order of the reports; at least one
};

/// A metric over steps.
struct MetricChart {
  PictureCaption caption;
  std::string step_name;
  std::string metric_name;
  std::optional<bool> smaller_is_better = true;  ///< nothing: values are not compared
  std::vector<ChartLine> lines;                  ///< at least one; the most important first
  std::optional<ChartPoint> best = {};  ///< a point of the first line, which is highlighted
  std::string reporters = "trials";     ///< what the lines stand for: "trials", "ranks"
  std::string id = {};                  ///< begins its ids, if several are in one page
  bool from_zero = false;               ///< the axis of the metric begins at 0, and is even
  /// Lines come in threes, of many reporters together: the least, the median and the most. The area
  /// between the first and the last is filled.
  bool has_bands = false;
  int height = 400;  ///< of the plot, in pixels
};

/// The points in the order of their steps, the last report of each step, and reduced to about
/// `most`: of neighbouring points only the first, the smallest, the largest and the last are kept,
/// so that the line looks the same.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

/// The chart as an SVG document like that of `picture_to_svg`: a line for each trial, axes with
/// names and ticks, the name of the best trial, and a legend of the states. The first 1,000 lines
/// show their trial's name when the pointer is over them; later ones, up to 10,000, are drawn as
/// one. The document has at most 2 MB. Class `trial` with `data-trials` marks every line.
std::string chart_to_svg(const MetricChart& chart);

}  // namespace train
