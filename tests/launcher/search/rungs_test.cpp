// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/rungs.hpp"

#include <limits>

#include "tests/catch.hpp"
#include "tests/launcher/search/infinity.hpp"

using namespace train;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Whether a trial of its own that reports this at a step of 1 goes on.
template <class Rungs>
bool goes_on(Rungs& rungs, double metric, double step = 1) {
  EnteredRungs entered = 0;
  const auto verdicts = rungs.report(entered, step, metric);
  REQUIRE(verdicts.size() == 1);
  return !verdicts[0].stops;
}

}  // namespace

TEST_CASE("equal metrics all go on") {
  HalvingRungs rungs({1, 2}, 2);
  for (int i = 0; i < 4; ++i) CHECK(goes_on(rungs, 0.5));
}

TEST_CASE("NaN is behind everything, infinities are numbers") {
  HalvingRungs rungs({1, 2}, 2);
  CHECK(goes_on(rungs, nan_value));
  CHECK_FALSE(goes_on(rungs, nan_value));
  CHECK(goes_on(rungs, 9));
  CHECK(goes_on(rungs, infinity));
}

TEST_CASE("a report goes through all rungs that its step reaches") {
  HalvingRungs rungs({1, 3, 9}, 3);
  EnteredRungs entered = 0;
  CHECK(rungs.report(entered, 0.9, 1).empty());
  CHECK(rungs.report(entered, 3.99, 1) ==
        std::vector<RungVerdict>{{0, false, false}, {1, false, false}});
  CHECK(rungs.report(entered, 8.99, 1).empty());
  CHECK(rungs.report(entered, 9, 1) == std::vector<RungVerdict>{{2, true, true}});
  CHECK(rungs.report(entered, 99, 1).empty());
}

TEST_CASE("a failure is worse than all numbers and better than infinity") {
  HalvingRungs rungs({1, 2}, 2);
  REQUIRE(rungs.restore(0, 7));
  REQUIRE(rungs.restore(0, infinity));
  REQUIRE_FALSE(rungs.restore(0, 8));
  rungs.add_failure(0);
  CHECK(rungs.metrics()[0].all() ==
        std::vector<double>{7, std::numeric_limits<double>::max(), infinity});
}

TEST_CASE("Tune's rungs begin at the grace period, those of later brackets higher") {
  const TuneAshaSettings settings{100, 2, 3, 1};
  CHECK(TuneRungs(settings, 0).needs() == std::vector<double>{2, 6, 18, 54});
  CHECK(TuneRungs(settings, 2).needs() == std::vector<double>{18, 54});
  CHECK(TuneRungs(settings, 4).needs().empty());
}

TEST_CASE("Tune's quantile lies between two metrics") {
  TuneRungs rungs({100, 1, 4, 1}, 0);
  for (const double recorded : {1.0, 2.0, 4.0}) rungs.restore(0, recorded);
  CHECK_FALSE(goes_on(rungs, 2.99));
  TuneRungs others({100, 1, 4, 1}, 0);
  for (const double recorded : {1.0, 2.0, 4.0}) others.restore(0, recorded);
  CHECK(goes_on(others, 3));
}

TEST_CASE("Tune's quantile leaves NaN out, and NaN is worse than it") {
  TuneRungs rungs({100, 1, 2, 1}, 0);
  CHECK(goes_on(rungs, nan_value));
  CHECK(goes_on(rungs, nan_value));
  CHECK(goes_on(rungs, 5));
  CHECK(goes_on(rungs, 5));
  CHECK_FALSE(goes_on(rungs, nan_value));
  CHECK_FALSE(goes_on(rungs, 4.9));
}

TEST_CASE("Tune's quantile may be infinite") {
  TuneRungs rungs({100, 1, 2, 1}, 0);
  rungs.restore(0, -infinity);
  rungs.restore(0, 1);
  CHECK(goes_on(rungs, -7));  // the quantile is -Infinity
  TuneRungs others({100, 1, 2, 1}, 0);
  others.restore(0, 1);
  others.restore(0, infinity);
  CHECK_FALSE(goes_on(others, 7));
  CHECK(goes_on(others, infinity));
}
