// SPDX-License-Identifier: Apache-2.0
// What a chart says; tests/browser looks at how it is drawn.
#include "launcher/picture/metric_chart.hpp"

#include <fmt/format.h>

#include <cmath>

#include "config_schema/text/text.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/launcher/picture/some_charts.hpp"
#include "tests/launcher/picture/svg_markup.hpp"

using namespace train;
using train::testing::contains;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

MetricChart small_chart() {
  MetricChart chart{.caption = {"digits: loss of 3 trials", "best: trial 2"},
                    .step_name = "batches",
                    .metric_name = "loss",
                    .lines = {}};
  chart.lines = {{"trial 2", "succeeded", LineKind::succeeded, {{1, 0.5}, {4, 0.1}}},
                 {"trial 0", "stopped: lr 0.1", LineKind::stopped, {{1, 0.75}}},
                 {"trial 1", "failed", LineKind::failed, {{1, 0.6}, {2, 0.7}}}};
  chart.best = ChartPoint{4, 0.1};
  return chart;
}

}  // namespace

TEST_CASE("a chart says of each line whose it is, and what the best one came to") {
  const std::string svg = chart_to_svg(small_chart());
  CHECK(is_well_formed(svg));
  CHECK_FALSE(find_text_fault(svg));
  CHECK(count_of(svg, "data-trials=\"1\"") == 3);
  CHECK(contains(svg, "<title>trial 0: stopped: lr 0.1</title>"));
  CHECK(contains(svg, ">trial 2: 0.1</text>"));
  CHECK(contains(svg, ">loss, smaller is better</text>"));
  CHECK(contains(svg, ">batches</text>"));
  CHECK(contains(svg, ">trial 2, the best</text>"));
  CHECK(contains(svg, ">1 stopped</text>"));
  CHECK(contains(svg, ">1 failed, invalid or killed</text>"));
  CHECK_FALSE(contains(svg, "trained to the end</text>"));  // that is the best one
  CHECK(contains(svg,
                 "A line for each of 3 trials that have reported: loss from 0.1 to 0.75, over "
                 "batches up to 4. The best is trial 2, with 0.1 at batches 4."));
}

TEST_CASE("the best line is drawn above all others") {
  const std::string svg = chart_to_svg(small_chart());
  const std::size_t best = svg.find("<title>trial 2:");
  CHECK(svg.find("<title>trial 0:") < best);
  CHECK(svg.find("<title>trial 1:") < best);
}

TEST_CASE("an axis of metrics that is logarithmic says so") {
  MetricChart chart = small_chart();
  chart.smaller_is_better = false;
  chart.lines[1].points = {{1, 50}};
  const std::string svg = chart_to_svg(chart);
  CHECK(contains(svg, ">loss, larger is better, logarithmic</text>"));
  CHECK(contains(svg, "loss from 0.1 to 50 on a logarithmic axis"));
}

TEST_CASE("where no trial counts, none is highlighted") {
  MetricChart chart = small_chart();
  chart.best.reset();
  const std::string svg = chart_to_svg(chart);
  CHECK_FALSE(contains(svg, "the best"));
  CHECK_FALSE(contains(svg, "class=\"ring\""));
  CHECK(contains(svg, ">1 trained to the end</text>"));
}

TEST_CASE("words of a chart that users chose are text and nothing else") {
  MetricChart chart = small_chart();
  chart.caption.title = "<script>alert('&')</script>\xff\x1b";
  chart.metric_name = "</text><a href=\"x\">";
  chart.step_name = "\"><b>";
  chart.lines[1].remark = "choice </title><script>\n";
  const std::string svg = chart_to_svg(chart);
  CHECK(is_well_formed(svg));
  CHECK_FALSE(find_text_fault(svg));
  CHECK_FALSE(contains(svg, "<script"));
  CHECK_FALSE(contains(svg, "<a "));
  CHECK(contains(svg, "choice &lt;/title&gt;&lt;script&gt;\\x0a</title>"));
}

TEST_CASE("a chart of any number of trials is drawn, and its size is bounded") {
  for (const int trials : {1, 24, 1'000, 1'100, 10'000, 10'500}) {
    CAPTURE(trials);
    const std::string svg = chart_to_svg(some_chart(trials, 200));
    CHECK(is_well_formed(svg));
    CHECK(svg.size() < 2'000'000);
    CHECK(count_of(svg, "data-trials=\"1\"") == static_cast<std::size_t>(std::min(trials, 1'000)));
    CHECK(contains(svg, "of these are not drawn") == (trials > 10'000));
    CHECK(count_of(svg, "class=\"key ") <= 5);
  }
}

TEST_CASE("a chart of the longest training is as large as any other") {
  const std::string svg = chart_to_svg(some_chart(2, 300'000));
  CHECK(svg.size() < 1'000'000);
}

TEST_CASE("of a step that was reported twice the last report is drawn, in the order of steps") {
  const std::vector<ChartPoint> points = {{1, 5}, {2, 4}, {3, 3}, {2, 4.5}, {3, 2}};
  CHECK(thinned(points, 10) == std::vector<ChartPoint>{{1, 5}, {2, 4.5}, {3, 2}});
}

TEST_CASE("a line that is thinned keeps its ends and its extremes") {
  std::vector<ChartPoint> points;
  for (int step = 0; step < 10'000; ++step) points.push_back({double(step), std::sin(step / 50.0)});
  points[4'321].metric = 7;
  points[8'765].metric = -7;
  const auto line = thinned(points, 100);
  CHECK(line.size() <= 100);
  CHECK(line.size() > 50);
  CHECK(line.front() == points.front());
  CHECK(line.back() == points.back());
  CHECK(std::find(line.begin(), line.end(), points[4'321]) != line.end());
  CHECK(std::find(line.begin(), line.end(), points[8'765]) != line.end());
  CHECK(std::is_sorted(line.begin(), line.end(),
                       [](const auto& a, const auto& b) { return a.step < b.step; }));
  CHECK(thinned(points, 1).size() == 4);
}
