// SPDX-License-Identifier: Apache-2.0
#include "launcher/record/moment.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

constexpr std::chrono::milliseconds span{60'000};
constexpr UnixMillis noon = 1'700'000'000'000;
constexpr UnixMillis day = 86'400'000;

Moment moment(const char* boot, std::int64_t since_boot, UnixMillis wall) {
  return {.boot_id = boot, .since_boot = std::chrono::milliseconds(since_boot), .wall = wall};
}

bool has_surely_passed(std::chrono::milliseconds limit, const Moment& since, const Moment& now) {
  return left_of(limit, since, now).count() < 0;
}

}  // namespace

TEST_CASE("within one start of a machine nobody asks for the time of day") {
  const Moment since = moment("one", 500'000, noon);
  for (const UnixMillis wall : {noon, noon + day, noon - day, UnixMillis{0}}) {
    CHECK_FALSE(has_surely_passed(span, since, moment("one", 500'000, wall)));
    CHECK_FALSE(has_surely_passed(span, since, moment("one", 560'000, wall)));
    CHECK(has_surely_passed(span, since, moment("one", 560'001, wall)));
    // No clock that goes on: whoever asks has another one than who was asked about.
    CHECK_FALSE(has_surely_passed(span, since, moment("one", 100, wall)));
  }
}

TEST_CASE("what is left of a time is never more than all of it") {
  const Moment since = moment("one", 500'000, noon);
  CHECK(left_of(span, since, moment("one", 510'000, noon)).count() == 50'000);
  CHECK(left_of(span, since, moment("one", 100, noon)) == span);
  CHECK(left_of(span, since, moment("two", 20'000, noon + day)).count() == 40'000);
  CHECK(left_of(span, since, moment("two", day, noon - day)) == span);
}

TEST_CASE("after another start both clocks must agree that the time has passed") {
  const auto boot = GENERATE("one", "");
  const Moment since = moment(boot, 500'000, noon);
  CHECK(has_surely_passed(span, since, moment("two", 60'001, noon + 60'001)));
  CHECK_FALSE(has_surely_passed(span, since, moment("two", 60'000, noon + day)));
  CHECK_FALSE(has_surely_passed(span, since, moment("two", day, noon + 60'000)));
  CHECK_FALSE(has_surely_passed(span, since, moment("two", day, noon - day)));
  CHECK_FALSE(has_surely_passed(span, since, moment("", 60'000, noon + day)));
}
