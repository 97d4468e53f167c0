// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/clock_offset.hpp"

#include <random>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using std::chrono::microseconds;

TEST_CASE("without a round trip nothing is known of a clock") {
  CHECK_FALSE(ClockOffset().align(5s));
}

TEST_CASE("an instant is aligned to within half of the round trip") {
  ClockOffset clock;
  clock.add(100s, 1000s, 100s + 20ms);  // the host's clock is 900 s ahead
  const auto aligned = clock.align(1001s);
  REQUIRE(aligned);
  CHECK(aligned->at == 101s + 10ms);
  CHECK(aligned->bound == 10ms);
}

TEST_CASE("a host's clock may be behind the launcher's") {
  ClockOffset clock;
  clock.add(1000s, 0s, 1000s);
  CHECK(clock.align(1s) == AlignedInstant{1001s, 0s});
}

TEST_CASE("the shortest round trip of the last minute counts") {
  ClockOffset clock;
  clock.add(10s, 10s, 10s + 8ms);
  clock.add(20s, 20s, 20s + 2ms);
  clock.add(30s, 30s, 30s + 6ms);
  CHECK(clock.align(0s)->bound == 1ms);
  clock.add(75s, 75s, 75s + 4ms);  // the 2 ms are within a minute still
  CHECK(clock.align(0s)->bound == 1ms);
  clock.add(81s, 81s, 81s + 9ms);  // and now they are not, nor is anything but the 4 ms
  CHECK(clock.align(0s)->bound == 2ms);
}

TEST_CASE("an old sample is better than none") {
  ClockOffset clock;
  clock.add(10s, 10s, 10s + 8ms);
  CHECK(clock.align(10'000s)->bound == 4ms);
}

TEST_CASE("an answer that arrived before its question is ignored") {
  ClockOffset clock;
  clock.add(10s, 10s, 9s);
  CHECK_FALSE(clock.align(0s));
}

TEST_CASE("the truth is always within the bound") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto offset = nanoseconds(static_cast<std::int64_t>(random() % 1'000'000'000'000));
    ClockOffset clock;
    Instant now = 0s;
    for (int i = 0; i < 100; ++i) {
      now += milliseconds(random() % 5000);
      const Instant answered = now + microseconds(random() % 5000);
      const Instant received = answered + microseconds(random() % 5000);
      clock.add(now, answered + offset, received);
      now = received;
      const auto aligned = clock.align(now + offset);
      REQUIRE(aligned);
      const nanoseconds wrong = aligned->at > now ? aligned->at - now : now - aligned->at;
      CHECK(wrong <= aligned->bound + 1ns);
    }
  }
}
