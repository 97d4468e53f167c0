// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/hang_watch.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using Step = HangWatch::Step;

namespace {

RankState state_of(int rank) {
  RankState state;
  state.rank = rank;
  state.pid = 100 + rank;
  return state;
}

message::RanksSeen untouched() { return {}; }

// Of a host that is asked about heartbeats at 60 s, its timeout.
HangWatch asked_watch() {
  HangWatch watch({.timeout = 60s});
  watch.begin(0s);
  REQUIRE(watch.next(60s) == Step::ask);
  watch.asked({0}, 60s);
  return watch;
}

}  // namespace

TEST_CASE("ranks hang when nothing has come for the timeout and no heartbeat file is newer") {
  HangWatch watch({.timeout = 60s});
  watch.begin(10s);
  CHECK(watch.next_deadline() == Instant(70s));
  CHECK(watch.next(69s) == Step::none);
  REQUIRE(watch.next(70s) == Step::ask);
  watch.asked({0, 1}, 70s);
  CHECK(watch.next(71s) == Step::none);
  CHECK(watch.answered(0, untouched(), 71s));
  CHECK(watch.next(71s) == Step::none);
  CHECK(watch.answered(1, untouched(), 71s));
  REQUIRE(watch.next(71s) == Step::ask_states);
  watch.asked({0, 1}, 71s);
  CHECK(watch.answered(0, {true, {}, {state_of(0)}}, 72s));
  CHECK(watch.next(72s) == Step::none);
  CHECK(watch.next_deadline() == Instant(79s));
  REQUIRE(watch.next(79s) == Step::hang);  // host 1 does not answer
  CHECK(watch.silence(79s) == 69s);
  CHECK(watch.take_states().size() == 1);
  watch.end();
  CHECK_FALSE(watch.next_deadline().has_value());
  CHECK(watch.next(200s) == Step::none);
}

TEST_CASE("what comes from a rank begins the silence anew, also while hosts are asked") {
  HangWatch watch({.timeout = 60s});
  watch.begin(0s);
  watch.progress(30s);
  CHECK(watch.next_deadline() == Instant(90s));
  REQUIRE(watch.next(90s) == Step::ask);
  watch.asked({0}, 90s);
  watch.progress(91s);
  CHECK_FALSE(watch.answered(0, untouched(), 92s));
  CHECK(watch.next(92s) == Step::none);
  CHECK(watch.next_deadline() == Instant(151s));
}

TEST_CASE("a touched heartbeat file is progress at the moment of the touch") {
  HangWatch watch({.timeout = 60s});
  watch.begin(0s);
  REQUIRE(watch.next(60s) == Step::ask);
  watch.asked({0, 1}, 60s);
  CHECK(watch.answered(0, {false, milliseconds(20s), {}}, 60s));
  CHECK(watch.answered(1, {false, milliseconds(200s), {}}, 60s));  // before its last output
  CHECK(watch.next(60s) == Step::none);
  CHECK(watch.next_deadline() == Instant(100s));
  CHECK(watch.silence(60s) == 20s);
}

TEST_CASE("a heartbeat counts also if the answer comes late") {
  HangWatch watch = asked_watch();
  REQUIRE(watch.next(68s) == Step::ask_states);
  watch.asked({0}, 68s);
  CHECK_FALSE(watch.answered(0, {false, milliseconds(9s), {}}, 69s));
  CHECK(watch.answered(0, {true, {}, {state_of(0)}}, 70s));
  CHECK(watch.next(70s) == Step::none);
  CHECK(watch.next_deadline() == Instant(120s));
}

TEST_CASE("time in which nothing could have come does not count") {
  HangWatch watch({.timeout = 60s});
  watch.begin(0s);
  watch.missed(20s, 50s);
  CHECK(watch.next_deadline() == Instant(80s));
  REQUIRE(watch.next(80s) == Step::ask);
  watch.postpone(82s);
  CHECK(watch.next_deadline() == Instant(82s));
  CHECK(watch.next(81s) == Step::none);
  CHECK(watch.next(82s) == Step::ask);
  watch.missed(1'000s, 90s);  // no more than all of it
  CHECK(watch.silence(90s) == 0s);
}

TEST_CASE("after the end nothing counts any more") {
  HangWatch watch = asked_watch();
  watch.end();
  CHECK_FALSE(watch.answered(0, {false, milliseconds(1s), {}}, 61s));
  CHECK_FALSE(watch.next_deadline().has_value());
}

TEST_CASE("an answer to another question does not count") {
  HangWatch watch({.timeout = 60s});
  watch.begin(0s);
  CHECK_FALSE(watch.answered(0, untouched(), 1s));
  REQUIRE(watch.next(60s) == Step::ask);
  watch.asked({0}, 60s);
  CHECK_FALSE(watch.answered(0, {true, {}, {state_of(0)}}, 61s));
  CHECK_FALSE(watch.answered(1, untouched(), 61s));
  CHECK(watch.answered(0, untouched(), 61s));
  CHECK_FALSE(watch.answered(0, untouched(), 61s));
}

TEST_CASE("a person is told once of ten silent minutes, without a timeout too") {
  const milliseconds timeout = GENERATE(0s, 3600s);
  HangWatch watch({.timeout = timeout});
  watch.begin(0s);
  CHECK(watch.next_deadline() == Instant(600s));
  REQUIRE(watch.next(600s) == Step::ask);
  watch.asked({0}, 600s);
  CHECK(watch.answered(0, untouched(), 600s));
  CHECK(watch.next(600s) == Step::tell);
  CHECK(watch.next(600s) == Step::none);
  watch.progress(700s);
  if (timeout == 0s)
    CHECK_FALSE(watch.next_deadline().has_value());
  else
    CHECK(watch.next_deadline() == Instant(4300s));
}

TEST_CASE("heartbeats keep a person from being told") {
  HangWatch watch({});
  watch.begin(0s);
  REQUIRE(watch.next(600s) == Step::ask);
  watch.asked({0}, 600s);
  CHECK(watch.answered(0, {false, milliseconds(5s), {}}, 600s));
  CHECK(watch.next(600s) == Step::none);
  CHECK(watch.next_deadline() == Instant(1195s));
}
