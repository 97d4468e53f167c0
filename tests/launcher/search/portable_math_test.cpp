// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/portable_math.hpp"

#include <cmath>
#include <limits>

#include "launcher/hyperparameters/search_random.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the logarithm makes exact powers of exact quotients as Go's does") {
  CHECK(static_cast<int>(fdlibm_log(243) / fdlibm_log(3)) == 5);
  CHECK(static_cast<int>(fdlibm_log(1000) / fdlibm_log(10)) == 2);
  CHECK(fdlibm_log(1) == 0);
  CHECK(fdlibm_log(2) == 0.6931471805599453);
  CHECK(fdlibm_log(10) == 2.302585092994046);
}

TEST_CASE("the logarithm is within one unit of the last place of libm's") {
  SearchRandom random(1);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::exp(random.uniform(-700, 700));
    const double expected = std::log(x);
    const double unit = std::nextafter(std::abs(expected), HUGE_VAL) - std::abs(expected);
    REQUIRE(std::abs(fdlibm_log(x) - expected) <= unit);
  }
  CHECK(fdlibm_log(std::numeric_limits<double>::denorm_min()) ==
        Approx(-744.4400719213812).epsilon(1e-15));
}

TEST_CASE("powers with whole exponents are multiplied") {
  CHECK(whole_power(4, 0) == 1);
  CHECK(whole_power(3, 5) == 243);
  CHECK(whole_power(2.5, 2) == 6.25);
  CHECK(whole_power(10, 22) == 1e22);
  CHECK(std::isinf(whole_power(4, 1000)));
  CHECK(whole_power(1.1, 9) == Approx(std::pow(1.1, 9)).epsilon(1e-14));
}
