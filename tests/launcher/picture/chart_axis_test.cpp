// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/chart_axis.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace train;

namespace {

std::vector<std::string> labels_of(const ChartAxis& axis) {
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks()) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("an axis of steps begins with 0, and names whole steps where all are whole") {
  CHECK(labels_of(ChartAxis::of_steps(3, 100, true)) == Labels{"0", "20", "40", "60", "80", "100"});
  CHECK(labels_of(ChartAxis::of_steps(1, 2, true)) == Labels{"0", "1", "2"});
  CHECK(labels_of(ChartAxis::of_steps(0.5, 1, false)) ==
        Labels{"0", "0.2", "0.4", "0.6", "0.8", "1"});
  CHECK(labels_of(ChartAxis::of_steps(0, 0, true)) == Labels{"0", "1"});
  CHECK(labels_of(ChartAxis::of_steps(0, 3e7, true)) ==
        Labels{"0", "5e6", "1e7", "1.5e7", "2e7", "2.5e7", "3e7"});
  CHECK(labels_of(ChartAxis::of_steps(-2, 2, true)) == Labels{"-2", "-1", "0", "1", "2"});
}

TEST_CASE("an axis of metrics is logarithmic where they are positive and span two decades") {
  CHECK_FALSE(ChartAxis::of_metrics(0.01, 1).is_logarithmic());
  CHECK_FALSE(ChartAxis::of_metrics(0, 1'000).is_logarithmic());
  CHECK_FALSE(ChartAxis::of_metrics(-1, 1'000).is_logarithmic());
  const ChartAxis axis = ChartAxis::of_metrics(0.01, 1.5);
  REQUIRE(axis.is_logarithmic());
  CHECK(labels_of(axis) == Labels{"0.01", "0.03", "0.1", "0.3", "1"});
  CHECK(axis.place(0.01) == 0);
  CHECK(axis.place(1.5) == 1);
  CHECK(axis.place(0.1) == Approx(1 / 2.17609));
  CHECK(labels_of(ChartAxis::of_metrics(2e-12, 3e9)) ==
        Labels{"1e-9", "1e-6", "0.001", "1", "1000", "1e6", "1e9"});
}

TEST_CASE("numbers that are close to each other are told apart") {
  CHECK(labels_of(ChartAxis::of_metrics(0.5, 0.5)) ==
        Labels{"0.46", "0.48", "0.5", "0.52", "0.54"});
  CHECK(labels_of(ChartAxis::of_metrics(1'000'000, 1'000'001)) ==
        Labels{"1000000", "1000000.2", "1000000.4", "1000000.6", "1000000.8", "1000001"});
  CHECK(labels_of(ChartAxis::of_metrics(0, 0)) == Labels{"-1", "-0.5", "0", "0.5", "1"});
}

TEST_CASE("any finite numbers have a place and ticks between the ends") {
  constexpr double largest = std::numeric_limits<double>::max();
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  for (const auto& [least, most] :
       std::vector<std::pair<double, double>>{{-largest, largest},
                                              {smallest, largest},
                                              {0, smallest},
                                              {largest, largest},
                                              {-smallest, smallest},
                                              {1, 1 + std::numeric_limits<double>::epsilon()},
                                              {-3, 7e100}}) {
    const ChartAxis axis = ChartAxis::of_metrics(least, most);
    CAPTURE(least, most);
    const auto ticks = axis.ticks();
    CHECK(ticks.size() >= 1);
    CHECK(ticks.size() <= 10);
    for (const Tick& tick : ticks) {
      CAPTURE(tick.label);
      CHECK(axis.place(tick.value) >= -1e-6);
      CHECK(axis.place(tick.value) <= 1 + 1e-6);
      CHECK(tick.label.size() <= 24);
    }
    CHECK(axis.place(least) >= 0);
    CHECK(axis.place(most) <= 1);
  }
}
