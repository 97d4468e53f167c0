// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/metric_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/picture/chart_axis.hpp"
#include "launcher/picture/columns.hpp"

namespace train {
namespace {

using namespace svg_size;

// Pixels.
constexpr int plot_padding = 10;  // between the frame and elements at its edge
constexpr int tick_label_gap = 8;

constexpr std::size_t most_lines = 10'000;
constexpr std::size_t most_titled = 1'000;
constexpr std::size_t most_points = 30'000;
constexpr std::size_t least_points = 4;     // of a line that has at least this many
constexpr std::size_t best_points = 2'000;  // of the highlighted line
// Charts with so few points and lines have a mark at every point.
constexpr std::size_t most_marked_points = 24;
constexpr std::size_t most_marked_lines = 100;
constexpr std::size_t longest_title = 240;  // columns

constexpr std::string_view chart_style = R"svg(<style>
.train-search { --running: #c98d12; --succeeded: #4d8be0; --stopped: #aab5c3; --failed: #d08484; }
@media (prefers-color-scheme: dark) {
.train-search { --running: #d9a440; --succeeded: #3f78c8; --stopped: #556476; --failed: #a05656; } }
.train-search path { fill: none; stroke-linecap: round; stroke-linejoin: round; }
.train-search .grid { stroke: var(--line); stroke-width: 1; }
.train-search .trial path { stroke-width: 1.25; }
.train-search .trial .dots, .train-search .key.dots { stroke-width: 4; }
.train-search .trial:hover path { stroke-width: 2.5; }
.train-search .trial:hover .dots { stroke-width: 6; }
.train-search .running { stroke: var(--running); }
.train-search .succeeded { stroke: var(--succeeded); }
.train-search .stopped { stroke: var(--stopped); }
.train-search .failed { stroke: var(--failed); stroke-dasharray: 5 3; }
.train-search .failed .dots { stroke-dasharray: none; }
.train-search .trial.best path, .train-search .key.best { stroke: var(--first); stroke-width: 2.5;
  stroke-dasharray: none; }
.train-search .trial.best .dots { stroke-width: 5; }
.train-search .band { fill: var(--succeeded); fill-opacity: 0.25; stroke: none; }
.train-search .key { stroke-width: 2; }
.train-search .ring { fill: none; stroke: var(--first); stroke-width: 2; pointer-events: none; }
.train-search .name { font-weight: bold; fill: var(--first); paint-order: stroke;
  stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; pointer-events: none; }
</style>
)svg";

struct KindWords {
  LineKind kind;
  std::string_view css_class;
  std::string_view words;
};
// In the order of the legend. Crowds are drawn in reverse order, so that the last kind is below the
// others.
constexpr std::array<KindWords, 4> kinds{
    {{LineKind::running, "running", "running"},
     {LineKind::succeeded, "succeeded", "trained to the end"},
     {LineKind::stopped, "stopped", "stopped"},
     {LineKind::failed, "failed", "failed, invalid or killed"}}};

std::string_view class_of(LineKind kind) { return kinds[static_cast<std::size_t>(kind)].css_class; }

// The smallest and the largest of the drawn values.
struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// The maximum number of points per line, so that all lines together have at most `most`.
std::size_t share_of(std::vector<std::size_t> sizes, std::size_t most) {
  std::sort(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t share = most / (sizes.size() - i);
    if (sizes[i] > share) return share;
    most -= sizes[i];
  }
  return most_points;
}

// The SVG paths of one line, or of several.
struct LinePaths {
  std::string lines;
  std::string dots;
};

class ChartSvg {
 public:
  explicit ChartSvg(const MetricChart& chart)
      : chart_(chart),
        shown_(std::min(chart.lines.size(), most_lines)),
        steps_(ChartAxis::of_steps(0, 0, true)),
        metrics_(ChartAxis::of_metrics(0, 0)) {}

  std::string draw() {
    measure();
    y_ = add_caption(svg_, chart_.caption);
    add_axes();
    if (chart_.has_bands) add_bands();
    add_crowd();
    for (std::size_t i = std::min(shown_, most_titled); i-- > 0;) add_line(i);
    if (chart_.best) add_best();
    add_legend();
    return svg_document({.name = "train-search",
                         .id = chart_.id,
                         .style = chart_style,
                         .height = y_ + page_margin,
                         .title = chart_.caption.title,
                         .description = description()},
                        svg_.take());
  }

 private:
  void measure() {
    Extent steps;
    Extent metrics;
    std::vector<std::size_t> sizes;
    bool are_whole = true;
    for (std::size_t i = 0; i < shown_; ++i) {
      sizes.push_back(chart_.lines[i].points.size());
      for (const ChartPoint& point : chart_.lines[i].points) {
        steps.take(point.step);
        metrics.take(point.metric);
        are_whole = are_whole && std::trunc(point.step) == point.step;
      }
    }
    points_of_each_ = std::max(least_points, share_of(std::move(sizes), most_points));
    steps_ = ChartAxis::of_steps(steps.least, steps.most, are_whole);
    metrics_ = chart_.from_zero ? ChartAxis::of_steps(metrics.least, metrics.most, false)
                                : ChartAxis::of_metrics(metrics.least, metrics.most);
    least_text_ = fmt::format("{:.6g}", metrics.least);
    most_text_ = fmt::format("{:.6g}", metrics.most);
    last_step_ = fmt::format("{:.15g}", steps.most);
  }

  std::string metric_words() const {
    std::string words = chart_.metric_name;
    if (chart_.smaller_is_better)
      words += *chart_.smaller_is_better ? ", smaller is better" : ", larger is better";
    return words + (metrics_.is_logarithmic() ? ", logarithmic" : "");
  }

  std::string description() const {
    if (chart_.has_bands)
      return fmt::format(
          "The least, the median and the most of {}: {} from {} to {}, over {} up to {}.",
          chart_.reporters, chart_.metric_name, least_text_, most_text_, chart_.step_name,
          last_step_);
    std::string text = fmt::format(
        "A line for each of {} {} that have reported: {} from {} to {}{}, over {} up to {}.",
        chart_.lines.size(), chart_.reporters, chart_.metric_name, least_text_, most_text_,
        metrics_.is_logarithmic() ? " on a logarithmic axis" : "", chart_.step_name, last_step_);
    if (chart_.best)
      text += fmt::format(" The best is {}, with {:.6g} at {} {:.15g}.", chart_.lines.front().name,
                          chart_.best->metric, chart_.step_name, chart_.best->step);
    return text;
  }

  double x_of(double step) const {
    return plot_.x + plot_padding + steps_.place(step) * (plot_.width - 2 * plot_padding);
  }
  double y_of(double metric) const {
    return plot_.y + plot_.height - plot_padding -
           metrics_.place(metric) * (plot_.height - 2 * plot_padding);
  }

  void add_axes() {
    const std::vector<Tick> metrics = metrics_.ticks();
    std::size_t widest = 0;
    for (const Tick& tick : metrics) widest = std::max(widest, tick.label.size());
    const int left = page_margin + text_width(widest, small_font) + tick_label_gap;
    y_ += small_font;
    svg_.add_text("small axis", page_margin, y_,
                  shortened(metric_words(), columns_in(page_width - 2 * page_margin, small_font)));
    y_ += tick_label_gap;
    plot_ = {left, y_, page_width - page_margin - left, chart_.height};
    svg_.add_box("card plot", plot_, corner);
    std::string grid;
    for (const Tick& tick : metrics) {
      const int y = static_cast<int>(std::lround(y_of(tick.value)));
      grid += fmt::format("M{} {}h{}", plot_.x, y, plot_.width);
      svg_.add_text("small tick-y", plot_.x - tick_label_gap, y + 4, tick.label, Anchor::end);
    }
    y_ += plot_.height + tick_label_gap + small_font;
    for (const Tick& tick : steps_.ticks()) {
      const int x = static_cast<int>(std::lround(x_of(tick.value)));
      grid += fmt::format("M{} {}v{}", x, plot_.y, plot_.height);
      const int half = text_width(tick.label.size(), small_font) / 2;
      svg_.add_text("small tick-x", std::min(x, page_width - page_margin - half), y_, tick.label,
                    Anchor::middle);
    }
    svg_.add_path("grid", grid);
    y_ += line_height;
    svg_.add_text("small axis", plot_.x + plot_.width / 2, y_,
                  shortened(chart_.step_name, columns_in(plot_.width, small_font)), Anchor::middle);
    y_ += line_height;
  }

  void append(LinePaths& paths, const ChartLine& line) const {
    const bool is_first = &line == &chart_.lines.front();
    const std::vector<ChartPoint> points =
        thinned(line.points, is_first ? best_points : points_of_each_);
    const bool is_marked =
        points.size() == 1 || (points.size() <= most_marked_points && shown_ <= most_marked_lines);
    char command = 'M';
    for (const ChartPoint& point : points) {
      const std::string place = fmt::format("{:.1f} {:.1f}", x_of(point.step), y_of(point.metric));
      if (points.size() > 1) paths.lines += command + place;
      if (is_marked) paths.dots += "M" + place + "h0";
      command = 'L';
    }
  }

  void add_paths(const LinePaths& paths) {
    if (!paths.lines.empty()) svg_.add_path("line", paths.lines);
    if (!paths.dots.empty()) svg_.add_path("dots", paths.dots);
  }

  // Draws the lines beyond those with a name of their own, one path for each kind.
  void add_crowd() {
    for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
      LinePaths paths;
      std::size_t count = 0;
      for (std::size_t i = most_titled; i < shown_; ++i) {
        if (chart_.lines[i].kind != kind->kind) continue;
        append(paths, chart_.lines[i]);
        ++count;
      }
      if (count == 0) continue;
      svg_.begin_group(fmt::format("trial crowd {}", kind->css_class),
                       fmt::format("data-trials=\"{}\"", count),
                       fmt::format("{} other {}: {}", count, chart_.reporters, kind->words));
      add_paths(paths);
      svg_.end_group();
    }
  }

  // Forth along the least values, and back along the largest.
  void add_bands() {
    for (std::size_t i = 0; i + 2 < shown_; i += 3) {
      std::vector<ChartPoint> edge = thinned(chart_.lines[i].points, points_of_each_);
      const std::vector<ChartPoint> most = thinned(chart_.lines[i + 2].points, points_of_each_);
      edge.insert(edge.end(), most.rbegin(), most.rend());
      std::string data;
      for (const ChartPoint& point : edge)
        data += fmt::format("{}{:.1f} {:.1f}", data.empty() ? "M" : "L", x_of(point.step),
                            y_of(point.metric));
      svg_.add_path("band", data + "Z");
    }
  }

  void add_line(std::size_t index) {
    const ChartLine& line = chart_.lines[index];
    const bool is_best = chart_.best && index == 0;
    LinePaths paths;
    append(paths, line);
    svg_.begin_group(
        fmt::format("trial {}{}", class_of(line.kind), is_best ? " best" : ""), "data-trials=\"1\"",
        shortened(escaped(fmt::format("{}: {}", line.name, line.remark)), longest_title));
    add_paths(paths);
    svg_.end_group();
  }

  // The name is inside the plot, beside the point, above or below it depending on the space.
  void add_best() {
    constexpr int ring = 12;
    const int x = static_cast<int>(std::lround(x_of(chart_.best->step)));
    const int y = static_cast<int>(std::lround(y_of(chart_.best->metric)));
    svg_.add_box("ring", {x - ring / 2, y - ring / 2, ring, ring}, ring / 2);
    const std::string name =
        fmt::format("{}: {:.6g}", chart_.lines.front().name, chart_.best->metric);
    const int width = text_width(count_columns(name), font);
    const int right = plot_.x + plot_.width - plot_padding;
    const int begin = std::max(plot_.x + plot_padding, std::min(x + ring, right - width));
    const bool is_high = y < plot_.y + plot_.height / 2;
    svg_.add_text("name", begin, is_high ? y + ring + font : y - ring, name);
  }

  void add_legend() {
    SvgLegend legend(y_);
    if (chart_.has_bands) {
      add_key(legend, "succeeded", "the least, the median and the most of " + chart_.reporters);
      y_ = legend.bottom();
      return;
    }
    if (chart_.best) add_key(legend, "best", chart_.lines.front().name + ", the best");
    for (const KindWords& kind : kinds) {
      const auto count =
          std::count_if(chart_.lines.begin() + (chart_.best ? 1 : 0), chart_.lines.end(),
                        [&kind](const ChartLine& line) { return line.kind == kind.kind; });
      if (count > 0) add_key(legend, kind.css_class, fmt::format("{} {}", count, kind.words));
    }
    if (shown_ < chart_.lines.size())
      legend.add_words(svg_,
                       fmt::format("{} of these are not drawn", chart_.lines.size() - shown_));
    y_ = legend.bottom();
  }

  void add_key(SvgLegend& legend, std::string_view css_class, const std::string& words) {
    const Box box = legend.add_words(svg_, words);
    svg_.add_path(fmt::format("key {}", css_class),
                  fmt::format("M{} {}h{}", box.x + 1, box.y + box.height / 2, box.width - 2));
  }

  const MetricChart& chart_;
  const std::size_t shown_;
  ChartAxis steps_;
  ChartAxis metrics_;
  std::size_t points_of_each_ = least_points;
  std::string least_text_;
  std::string most_text_;
  std::string last_step_;
  SvgWriter svg_;
  Box plot_;
  int y_ = 0;  // position of the next element
};

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  std::vector<ChartPoint> ordered = points;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const ChartPoint& a, const ChartPoint& b) { return a.step < b.step; });
  std::vector<ChartPoint> line;
  for (const ChartPoint& point : ordered)
    if (!line.empty() && line.back().step == point.step)
      line.back() = point;
    else
      line.push_back(point);
  if (line.size() <= most) return line;

  constexpr std::size_t kept_of_each = 4;
  const std::size_t stretches = std::max<std::size_t>(1, most / kept_of_each);
  std::vector<ChartPoint> kept;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = line.begin() + static_cast<std::ptrdiff_t>(i * line.size() / stretches);
    const auto end = line.begin() + static_cast<std::ptrdiff_t>((i + 1) * line.size() / stretches);
    if (begin == end) continue;
    const auto [least, largest] = std::minmax_element(
        begin, end, [](const ChartPoint& a, const ChartPoint& b) { return a.metric < b.metric; });
    std::array chosen{begin, least, largest, end - 1};
    std::sort(chosen.begin(), chosen.end());
    for (const auto& each : chosen)
      if (kept.empty() || kept.back().step != each->step) kept.push_back(*each);
  }
  return kept;
}

std::string chart_to_svg(const MetricChart& chart) { return ChartSvg(chart).draw(); }

}  // namespace train
