// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journal_writer.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

// A wall clock of which each reading is another one.
struct ReadClock {
  nanoseconds read() {
    ++readings;
    return wall += 700us;
  }
  nanoseconds wall = 5'000s;
  int readings = 0;
};

std::vector<milliseconds> walls_of(const HandJournal& journal) {
  std::vector<milliseconds> walls;
  for (const HandJournal::Waiting& waiting : journal.waiting) {
    const auto entry = decode_entry(waiting.entry);
    REQUIRE(entry);
    REQUIRE(entry->wall);
    walls.push_back(*entry->wall);
  }
  return walls;
}

}  // namespace

TEST_CASE("what is written down at one instant has one time, from one reading of the clock") {
  HandTimers timers;
  HandJournal journal;
  ReadClock clock;
  EventTime time(timers, [&] { return clock.read(); });
  JournalWriter writer(&journal, timers, "boot", &time, [](const Error&) {});
  writer.write(record::Supervised{1}, JournalWriter::Durable::no);
  writer.write(record::AttemptBegun{0}, JournalWriter::Durable::no);
  CHECK(time.now() == 5'000'000'700us);
  CHECK(clock.readings == 1);
  timers.pass(1ns);
  writer.write(record::AttemptHopeless{}, JournalWriter::Durable::no);
  CHECK(time.now_ms() == 5'000'001ms);
  CHECK(clock.readings == 2);
  CHECK(walls_of(journal) == std::vector{5'000'000ms, 5'000'000ms, 5'000'001ms});
}

TEST_CASE("entries have times in the order in which they were written") {
  HandTimers timers;
  HandJournal journal;
  ReadClock clock;
  EventTime time(timers, [&] { return clock.read(); });
  JournalWriter writer(&journal, timers, "boot", &time, [](const Error&) {});
  for (int turn = 0; turn < 20; ++turn) {
    for (int entry = 0; entry < 3; ++entry)
      writer.write(record::AttemptHopeless{}, JournalWriter::Durable::no);
    timers.pass(10us);
  }
  const auto walls = walls_of(journal);
  CHECK(std::is_sorted(walls.begin(), walls.end()));
}
