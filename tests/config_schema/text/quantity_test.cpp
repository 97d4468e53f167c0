// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/quantity.hpp"

#include <limits>

#include "tests/catch.hpp"

using train::Quantity;

TEST_CASE("ten times a tenth is one") {
  const auto tenth = Quantity::from_double(0.1);
  REQUIRE(tenth);
  CHECK(*tenth * 10 == Quantity::of(1));
}

TEST_CASE("quantities print in their shortest form") {
  CHECK(to_string(Quantity::of(4)) == "4");
  CHECK(to_string(*Quantity::from_double(0.25)) == "0.25");
  CHECK(to_string(*Quantity::from_double(1.0001)) == "1.0001");
  CHECK(to_string(Quantity()) == "0");
}

TEST_CASE("what is no amount is refused") {
  CHECK_FALSE(Quantity::from_double(-1));
  CHECK_FALSE(Quantity::from_double(0.00001));
  CHECK_FALSE(Quantity::from_double(1e300));
  CHECK_FALSE(Quantity::from_double(std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(Quantity::from_double(std::numeric_limits<double>::infinity()));
}
