// SPDX-License-Identifier: Apache-2.0
#include "cli/show/metric_charts.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE(
    "each name under which numbers were reported has a chart, with a line for each reporter") {
  const MetricCharts charts =
      charts_of({{"rank 0",
                  "",
                  LineKind::succeeded,
                  {R"({"step": 1, "loss": 0.5, "note": "x"})",
                   R"({"step": 2, "loss": 0.25, "accuracy": 0.9})"}},
                 {"rank 1",
                  "",
                  LineKind::succeeded,
                  {R"({"step": 1, "loss": 0.6})", R"({"loss": null})", "junk"}}},
                "", "ranks");
  REQUIRE(charts.charts.size() == 2);
  const MetricChart& loss = charts.charts[0];
  CHECK(loss.metric_name == "loss");
  CHECK(loss.reporters == "ranks");
  CHECK(!loss.smaller_is_better);
  REQUIRE(loss.lines.size() == 2);
  CHECK(loss.lines[0].points == std::vector<ChartPoint>{{1, 0.5}, {2, 0.25}});
  CHECK(loss.lines[1].points == std::vector<ChartPoint>{{1, 0.6}});
  CHECK(charts.charts[1].metric_name == "accuracy");
  CHECK(charts.remark.empty());
}

TEST_CASE("the step is what a search counts, or the number of the report") {
  const auto series = [](const char* report) {
    return std::vector<ReportedSeries>{{"rank 0", "", LineKind::running, {report}}};
  };
  CHECK(charts_of(series(R"({"epoch": 3, "loss": 1})"), "epoch", "trials")
            .charts[0]
            .lines[0]
            .points == std::vector<ChartPoint>{{3, 1}});
  CHECK(charts_of(series(R"({"loss": 1})"), "", "trials").charts[0].lines[0].points ==
        std::vector<ChartPoint>{{1, 1}});
  CHECK(charts_of(series(R"({"step": 3})"), "", "trials").charts.empty());
}

TEST_CASE("too many metrics are counted, not drawn") {
  std::string report = R"({"step": 1)";
  for (int i = 0; i < 30; ++i) report += ", \"m" + std::to_string(i) + "\": 1";
  const MetricCharts charts =
      charts_of({{"rank 0", "", LineKind::running, {report + "}"}}}, "", "ranks");
  CHECK(charts.charts.size() == 24);
  CHECK(charts.remark == "6 more metrics are left out.");
}
