// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/sorted_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "launcher/hyperparameters/search_random.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/search/infinity.hpp"

using namespace train;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a metric goes before equal ones") {
  SortedMetrics metrics;
  CHECK(metrics.insert(0.5) == 0);
  CHECK(metrics.insert(0.5) == 0);
  CHECK(metrics.insert(0.7) == 2);
  CHECK(metrics.insert(0.7) == 2);
  CHECK(metrics.insert(-infinity) == 0);
  CHECK(metrics.insert(infinity) == 5);
}

TEST_CASE("NaN goes behind everything") {
  SortedMetrics metrics;
  CHECK(metrics.insert(nan_value) == 0);
  CHECK(metrics.insert(nan_value) == 1);
  CHECK(metrics.insert(infinity) == 0);
  CHECK(metrics.size() == 3);
  CHECK(metrics.numbers() == 1);
  metrics.remove(nan_value);
  CHECK(metrics.size() == 2);
}

TEST_CASE("what is not there cannot be removed") {
  SortedMetrics metrics;
  metrics.remove(1);
  metrics.remove(nan_value);
  metrics.insert(2);
  metrics.remove(1);
  metrics.remove(3);
  CHECK(metrics.all() == std::vector<double>{2});
  metrics.remove(2);
  CHECK(metrics.all().empty());
}

TEST_CASE("metrics are put back in the order in which they were") {
  for (const auto& list : {std::vector<double>{-infinity, -0.0, 0.0, 0.5, infinity, nan_value},
                           std::vector<double>{0.0, -0.0}, std::vector<double>{}}) {
    SortedMetrics metrics;
    for (const double metric : list) CHECK(metrics.append(metric));
    const std::vector<double> all = metrics.all();
    REQUIRE(all.size() == list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      CHECK(std::signbit(all[i]) == std::signbit(list[i]));
      CHECK((all[i] == list[i] || std::isnan(list[i])));
    }
  }
  SortedMetrics metrics;
  CHECK(metrics.append(1));
  CHECK_FALSE(metrics.append(0.5));
  CHECK(metrics.append(nan_value));
  CHECK_FALSE(metrics.append(2));
  for (int i = 0; i < 5000; ++i) metrics.insert(i);
  CHECK(metrics.size() == 5002);
}

TEST_CASE("sorted metrics agree with a sorted list") {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SearchRandom random(seed);
    SortedMetrics metrics;
    std::vector<double> list;
    const std::uint64_t values =
        seed % 2 == 0 ? 50 : 1'000'000;  // with equal ones, and nearly without
    for (int i = 0; i < 6000; ++i) {
      const auto metric = static_cast<double>(random.whole(values));
      const auto place = std::lower_bound(list.begin(), list.end(), metric);
      if (random.whole(3) == 0) {
        metrics.remove(metric);
        if (place != list.end() && *place == metric) list.erase(place);
        continue;
      }
      INFO("seed " << seed);
      REQUIRE(metrics.insert(metric) == static_cast<std::size_t>(place - list.begin()));
      list.insert(place, metric);
      const std::size_t some = random.whole(list.size() - 1);
      REQUIRE(metrics.at(some) == list[some]);
    }
    CHECK(metrics.all() == list);
    for (const double metric : list) metrics.remove(metric);
    CHECK(metrics.size() == 0);
  }
}
