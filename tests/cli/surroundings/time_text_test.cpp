// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings/time_text.hpp"

#include <cstdlib>
#include <ctime>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// Two hours and a half east of Greenwich, without summer time.
struct Zone {
  Zone() { set("TST-2:30"); }
  ~Zone() { set("UTC0"); }
  static void set(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
};

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t noon = 1'700'049'600 * second;  // 2023-11-15T12:00:00Z

std::int64_t moment(const std::string& text) {
  const auto read = parse_moment(text, "--since", noon);
  INFO(text);
  REQUIRE(read);
  return *read;
}

std::string written(std::int64_t instant) {
  std::string text;
  MomentWriter().append(text, instant);
  return text;
}

}  // namespace

TEST_CASE("a duration has a unit, or is seconds") {
  CHECK(parse_duration("500ms") == 500ms);
  CHECK(parse_duration("1.5h") == 90min);
  CHECK(parse_duration("7d") == 168h);
  CHECK(parse_duration("60") == 60s);
  CHECK(parse_duration("0.25") == 250ms);
  CHECK(parse_duration("0") == 0s);
  for (const char* bad : {"", "m", "10 parsecs", "-1s", "-1", "nan", ".nan", ".inf", "null", "true",
                          "1 0", "1764230400"})
    CHECK_FALSE(parse_duration(bad));
}

TEST_CASE("a moment is so long ago, or a time of this zone or another") {
  const Zone zone;
  CHECK(moment("10m") == noon - 600 * second);
  CHECK(moment("90") == noon - 90 * second);
  CHECK(moment("3600") == noon - 3600 * second);
  CHECK(moment("2026s") == noon - 2026 * second);
  CHECK(moment("2023-11-15T14:30:00") == noon);
  CHECK(moment("2023-11-15 14:30") == noon);
  CHECK(moment("14:30") == noon);
  CHECK(moment("14:30:01.25") == noon + second * 5 / 4);
  CHECK(moment("2023-11-15T12:00:00Z") == noon);
  CHECK(moment("2023-11-15T13:00:00+01:00") == noon);
  CHECK(moment("2023-11-15T07:00:00.5-0500") == noon + second / 2);
  CHECK(moment("12:00Z") == noon);
  CHECK(moment("02:00+14:00") == noon);  // of the next day, as it is there
  CHECK(moment("2023-11-15") == noon - (14 * 3600 + 1800) * second);
}

TEST_CASE("what is no moment is refused, with what is one") {
  for (const char* bad :
       {"", "yesterday", "-10", "1764230400", "25:00", "14:60", "2023-13-01", "2023-02-30",
        "2023-11-15T", "2023-11-15T14:30x", "14:30:01.", "2023-11-15T14:30+1"}) {
    const auto read = parse_moment(bad, "--since", noon);
    INFO(bad);
    REQUIRE_FALSE(read);
    CHECK(read.error().error_class == ErrorClass::usage);
    CHECK(render(read.error()).find("2026-11-23T15:50:01+01:00") != std::string::npos);
  }
}

TEST_CASE("digits that may be a date are not guessed at") {
  const auto said = [](const char* text) {
    const auto read = parse_moment(text, "--since", noon);
    INFO(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().error_class == ErrorClass::usage);
    return render(read.error());
  };
  CHECK(said("2026").find("--since: '2026' may be seconds or a date") != std::string::npos);
  CHECK(said("2026").find("2026s for so many seconds ago, or 2026-01-01") != std::string::npos);
  CHECK(said("20261123").find("20261123s for so many seconds ago, or 2026-11-23") !=
        std::string::npos);
  CHECK(moment("20261399") == noon - 20'261'399 * second);
}

TEST_CASE("an instant is written as it is read, to the millisecond") {
  const Zone zone;
  CHECK(written(noon + 123'999) == "2023-11-15T14:30:00.123+02:30");
  CHECK(moment(written(noon + 123'000)) == noon + 123'000);
  CHECK(written(-1) == "1970-01-01T02:29:59.999+02:30");
  MomentWriter writer;
  std::string text;
  for (const std::int64_t at : {noon, noon + 1'000, noon + second}) writer.append(text, at);
  CHECK(text ==
        "2023-11-15T14:30:00.000+02:302023-11-15T14:30:00.001+02:302023-11-15T14:30:01.000+02:30");
}
