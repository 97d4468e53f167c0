// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/time_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "config_schema/text/duration.hpp"
#include "launcher/picture/columns.hpp"
#include "launcher/picture/svg_writer.hpp"
#include "launcher/report_page/report_table.hpp"

namespace train {

namespace {

// Pixels.
constexpr int usual_lane = 18;
constexpr int least_lane = 2;
constexpr int most_height = 400;  // of the lanes of a row, unless they would be too thin
constexpr int least_marked_lane = 12;

constexpr std::size_t most_words = 200;  // columns
constexpr std::size_t most_ticks = 5;

constexpr std::int64_t second = 1'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

struct BarWords {
  TimeBar::Kind kind;
  std::string_view css_class;
  std::string_view words;
};
constexpr std::array<BarWords, 12> bar_kinds{
    {{TimeBar::Kind::queued, "queued", "waiting"},
     {TimeBar::Kind::starting, "starting", "starting"},
     {TimeBar::Kind::running, "running", "running"},
     {TimeBar::Kind::stopping, "stopping", "being stopped"},
     {TimeBar::Kind::succeeded, "succeeded", "trained to the end"},
     {TimeBar::Kind::stopped, "stopped", "stopped early"},
     {TimeBar::Kind::failed, "failed", "failed, invalid or killed"},
     {TimeBar::Kind::connecting, "connecting", "connecting"},
     {TimeBar::Kind::logging_in, "logging-in", "logging in"},
     {TimeBar::Kind::agent, "agent", "starting the agent"},
     {TimeBar::Kind::context, "context", "taking the context"},
     {TimeBar::Kind::checking, "checking", "checks and leases"}}};

std::string_view class_of(TimeBar::Kind kind) {
  return bar_kinds[static_cast<std::size_t>(kind)].css_class;
}

// The smallest round step that gives few ticks.
std::int64_t tick_step(std::int64_t length) {
  constexpr std::array steps{std::int64_t{1},
                             std::int64_t{2},
                             std::int64_t{5},
                             std::int64_t{10},
                             std::int64_t{20},
                             std::int64_t{50},
                             std::int64_t{100},
                             std::int64_t{200},
                             second,
                             2 * second,
                             5 * second,
                             10 * second,
                             30 * second,
                             minute,
                             2 * minute,
                             5 * minute,
                             10 * minute,
                             30 * minute,
                             hour,
                             2 * hour,
                             6 * hour,
                             12 * hour,
                             day,
                             2 * day,
                             7 * day};
  for (const std::int64_t step : steps)
    if (length / step <= static_cast<std::int64_t>(most_ticks)) return step;
  return length / static_cast<std::int64_t>(most_ticks) / day * day + day;
}

class TimeAxis {
 public:
  explicit TimeAxis(const TimeLine& time_line) {
    begin_ = std::numeric_limits<std::int64_t>::max();
    end_ = std::numeric_limits<std::int64_t>::min();
    for (const TimeRow& row : time_line.rows)
      for (const TimeBar& bar : row.bars) {
        begin_ = std::min(begin_, bar.begin);
        end_ = std::max({end_, bar.begin, bar.end});
      }
    end_ = std::max(end_, begin_ + 1);
  }

  std::int64_t length() const { return end_ - begin_; }
  double percent(std::int64_t at) const {
    return 100.0 * static_cast<double>(at - begin_) / static_cast<double>(length());
  }
  std::vector<std::int64_t> ticks() const {
    std::vector<std::int64_t> ticks;
    const std::int64_t step = tick_step(length());
    for (std::int64_t at = 0; at <= length(); at += step) ticks.push_back(begin_ + at);
    return ticks;
  }
  std::int64_t since_begin(std::int64_t at) const { return at - begin_; }

 private:
  std::int64_t begin_;
  std::int64_t end_;
};

// The lane of each bar, so that no two bars of a lane overlap; bars are ordered by their begin.
std::vector<std::size_t> lanes_of(const std::vector<TimeBar>& bars) {
  std::vector<std::int64_t> ends;  // of each lane
  std::vector<std::size_t> lanes;
  for (const TimeBar& bar : bars) {
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&bar](std::int64_t end) { return end <= bar.begin; });
    lanes.push_back(static_cast<std::size_t>(free - ends.begin()));
    if (free == ends.end())
      ends.push_back(bar.end);
    else
      *free = bar.end;
  }
  return lanes;
}

std::string grid_of(const TimeAxis& axis) {
  std::string lines;
  for (const std::int64_t tick : axis.ticks())
    lines +=
        fmt::format("<line class=\"grid\" x1=\"{0:.3f}%\" x2=\"{0:.3f}%\" y1=\"0\" y2=\"100%\"/>",
                    axis.percent(tick));
  return lines;
}

std::string bar_to_svg(const TimeBar& bar, const TimeAxis& axis, int y, int height) {
  const double x = axis.percent(bar.begin);
  const double end = axis.percent(std::max(bar.begin, bar.end));
  const int inset = height >= least_marked_lane ? 2 : 0;
  std::string svg = fmt::format(
      "<g class=\"bar {}\"><title>{}</title><rect x=\"{:.3f}%\" y=\"{}\" width=\"{:.3f}%\" "
      "height=\"{}\"/>",
      class_of(bar.kind), xml_text(shortened(bar.words, most_words)), x, y + inset, end - x,
      std::max(1, height - 2 * inset));
  if (bar.started)
    svg +=
        fmt::format("<rect class=\"lead\" x=\"{:.3f}%\" y=\"{}\" width=\"{:.3f}%\" height=\"{}\"/>",
                    x, y + inset, axis.percent(std::clamp(*bar.started, bar.begin, bar.end)) - x,
                    std::max(1, height - 2 * inset));
  if (bar.ends_in_failure && height >= least_marked_lane)
    svg += fmt::format("<text x=\"{:.3f}%\" y=\"{}\" text-anchor=\"{}\">\xc3\x97</text>", end,
                       y + height - 3, end > 98 ? "end" : "middle");
  return svg + "</g>\n";
}

std::string row_to_html(const TimeRow& row, const TimeAxis& axis) {
  std::vector<TimeBar> bars = row.bars;
  std::stable_sort(bars.begin(), bars.end(),
                   [](const TimeBar& a, const TimeBar& b) { return a.begin < b.begin; });
  const std::vector<std::size_t> lanes = lanes_of(bars);
  const auto count = static_cast<int>(*std::max_element(lanes.begin(), lanes.end())) + 1;
  const int lane = std::clamp(most_height / count, least_lane, usual_lane);
  std::string label = row.name;
  constexpr std::size_t most_told = 6;
  for (std::size_t i = 0; i < std::min(bars.size(), most_told); ++i)
    label += (i == 0 ? ": " : "; ") + shortened(bars[i].words, most_words);
  std::string html = fmt::format(
      "<div class=\"time-row\"><p><b>{}</b>{}</p>\n<svg width=\"100%\" height=\"{}\" role=\"img\" "
      "aria-label=\"{}\">{}\n",
      xml_text(row.name),
      row.remark.empty() ? "" : " " + xml_text(shortened(row.remark, 2 * most_words)), count * lane,
      xml_text(label), grid_of(axis));
  for (std::size_t i = 0; i < bars.size(); ++i)
    html += bar_to_svg(bars[i], axis, static_cast<int>(lanes[i]) * lane, lane);
  return html + "</svg></div>\n";
}

std::string axis_to_html(const TimeAxis& axis) {
  std::string html = "<svg class=\"time-axis\" width=\"100%\" height=\"18\" aria-hidden=\"true\">";
  for (const std::int64_t tick : axis.ticks()) {
    const double x = axis.percent(tick);
    html += fmt::format("<text x=\"{:.3f}%\" y=\"13\" text-anchor=\"{}\">{}</text>", x,
                        x < 2    ? "start"
                        : x > 92 ? "end"
                                 : "middle",
                        short_duration_text(std::chrono::milliseconds(axis.since_begin(tick))));
  }
  return html + "</svg>\n";
}

std::string legend_of(const TimeLine& time_line) {
  std::array<bool, bar_kinds.size()> is_there{};
  bool is_marked = false;
  for (const TimeRow& row : time_line.rows)
    for (const TimeBar& bar : row.bars) {
      is_there[static_cast<std::size_t>(bar.kind)] = true;
      if (bar.started) is_there[static_cast<std::size_t>(TimeBar::Kind::starting)] = true;
      is_marked = is_marked || bar.ends_in_failure;
    }
  std::string html = "<ul class=\"legend\">";
  for (const BarWords& kind : bar_kinds)
    if (is_there[static_cast<std::size_t>(kind.kind)])
      html += fmt::format(
          "<li><svg width=\"28\" height=\"16\" aria-hidden=\"true\"><g class=\"bar {}\"><rect "
          "x=\"1\" y=\"2\" width=\"26\" height=\"12\"/></g></svg> {}</li>",
          kind.css_class, kind.words);
  if (is_marked)
    html +=
        "<li><svg width=\"14\" height=\"16\" aria-hidden=\"true\"><g class=\"bar\"><text x=\"1\" "
        "y=\"14\">\xc3\x97</text></g></svg> something has failed</li>";
  return html + "</ul>\n";
}

}  // namespace

std::string time_line_to_html(const TimeLine& time_line) {
  const bool has_bars = std::any_of(time_line.rows.begin(), time_line.rows.end(),
                                    [](const TimeRow& row) { return !row.bars.empty(); });
  if (!has_bars) return "";
  const TimeAxis axis(time_line);
  std::string html = "<div class=\"time-line\">\n";
  for (const TimeRow& row : time_line.rows)
    if (!row.bars.empty()) html += row_to_html(row, axis);
  return html + axis_to_html(axis) + "</div>\n" + legend_of(time_line) +
         note_html(time_line.remark);
}

}  // namespace train
