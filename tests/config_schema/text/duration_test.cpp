// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/duration.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

TEST_CASE("durations are told in the units that people would use") {
  CHECK(duration_text(0s) == "0 s");
  CHECK(duration_text(2'900ms) == "2 s");
  CHECK(duration_text(119s) == "119 s");
  CHECK(duration_text(120s) == "2 min");
  CHECK(duration_text(125s) == "2 min 5 s");
  CHECK(duration_text(3'605s) == "1 h");
  CHECK(duration_text(3'660s) == "1 h 1 min");
  CHECK(duration_text(24h) == "1 d");
  CHECK(duration_text(24h + 90min) == "1 d 1 h");
  CHECK(duration_text(40 * 24h) == "40 d");
}

TEST_CASE("durations are as short as they are clear") {
  CHECK(format_duration(0) == "0.0s");
  CHECK(format_duration(12'399) == "12.3s");
  CHECK(format_duration(59'999) == "59.9s");
  CHECK(format_duration(60'000) == "1m00s");
  CHECK(format_duration(3'599'999) == "59m59s");
  CHECK(format_duration(7'380'000) == "2h03m");
  CHECK(format_duration(273'600'000) == "3d04h");
}
