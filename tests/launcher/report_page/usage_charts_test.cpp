// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/usage_charts.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

TaskRecord task_of(int ranks) {
  TaskRecord task;
  task.created = 1'000'000;
  task.world_size = ranks;
  return task;
}

}  // namespace

TEST_CASE("what ranks used is drawn over the time since the launch, a line for each") {
  const auto charts =
      usage_charts(task_of(2), {{1'005'000, 0, {std::nullopt, 500}, {1 << 20, 2 << 20}},
                                {1'010'000, 0, {1'500, 250}, {1 << 20, 3 << 20}}});
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].metric_name == "CPUs in use");
  CHECK(charts[0].step_name == "seconds since the launch");
  REQUIRE(charts[0].lines.size() == 2);
  CHECK(charts[0].lines[0].name == "rank 0");
  REQUIRE(charts[0].lines[0].points.size() == 1);
  CHECK(charts[0].lines[0].points[0].step == 10);
  CHECK(charts[0].lines[0].points[0].metric == 1.5);
  CHECK(charts[1].metric_name == "memory, MiB");
  CHECK(charts[1].lines[1].points[1].metric == 3);
}

TEST_CASE("many ranks have a band, and hours and GiB are drawn as such") {
  const std::int64_t at = 1'000'000 + 8 * 3'600'000;
  const auto charts = usage_charts(
      task_of(512), {{at, 0, {0, 500, 900}, {1 << 20, 2 << 20, std::int64_t{3} << 30}}});
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].has_bands);
  CHECK(charts[0].reporters == "512 ranks");
  CHECK(charts[0].step_name == "hours since the launch");
  REQUIRE(charts[0].lines.size() == 3);
  CHECK(charts[0].lines[1].name == "the median");
  CHECK(charts[0].lines[1].points[0].step == 8);
  CHECK(charts[1].metric_name == "memory, GiB");
  CHECK(charts[1].lines[2].points[0].metric == 3);
}

TEST_CASE("without samples there are no charts, and without values none of them") {
  CHECK(usage_charts(task_of(2), {}).empty());
  const auto charts = usage_charts(task_of(1), {{1'005'000, 0, {std::nullopt}, {1 << 20}}});
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].metric_name == "memory, MiB");
}

TEST_CASE("GPUs and their memory are drawn where they are known") {
  const auto charts = usage_charts(
      task_of(1), {{1'005'000, 0, {500}, {1 << 20}, {}, {}},
                   {1'010'000, 0, {500}, {1 << 20}, {970}, {std::int64_t{60} << 30}},
                   {1'015'000, 0, {500}, {1 << 20}, {std::nullopt}, {std::int64_t{61} << 30}}});
  REQUIRE(charts.size() == 4);
  CHECK(charts[2].metric_name == "GPUs in use");
  REQUIRE(charts[2].lines.size() == 1);
  REQUIRE(charts[2].lines[0].points.size() == 1);
  CHECK(charts[2].lines[0].points[0].metric == 0.97);
  CHECK(charts[3].metric_name == "GPU memory, GiB");
  REQUIRE(charts[3].lines[0].points.size() == 2);
  CHECK(charts[3].lines[0].points[1].metric == 61);
}
