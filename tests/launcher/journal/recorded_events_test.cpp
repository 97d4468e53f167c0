// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/recorded_events.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/task/attempt_ends.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;
using What = RecordedEvent::What;

namespace {

TaskRecord task_of(TaskState state) {
  TaskRecord task;
  task.state = state;
  task.created = 1'000;
  task.hosts = "node01,node02";
  task.world_size = 4;
  return task;
}

// A second after the one before, on one boot, with the wall clock where that is wanted.
std::vector<JournalEntry> journal_of(const std::vector<JournalRecord>& records, bool with_wall) {
  std::vector<JournalEntry> journal;
  for (const JournalRecord& each : records) {
    const Instant at = 10s + 1s * journal.size();
    journal.push_back({each, at, "boot"});
    if (with_wall) journal.back().wall = std::chrono::floor<milliseconds>(at) + 1'000'000ms;
  }
  return journal;
}

std::vector<What> kinds_of(const std::vector<RecordedEvent>& events) {
  std::vector<What> kinds;
  for (const RecordedEvent& event : events) kinds.push_back(event.what);
  return kinds;
}

}  // namespace

TEST_CASE("what a journal has is told in its order, with the wall clock of each entry") {
  const Failure failure{{900s, 0s}, make_error(ErrorClass::worker, "rank 3 failed"), 3, 1, 6};
  TaskRecord task = task_of(TaskState::failed);
  task.ended = 2'000'000;
  const auto events = recorded_events(
      task, journal_of({record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{},
                        record::AttemptFailing{failure}, record::AttemptHopeless{},
                        record::AttemptOver{failed_with(6)}, record::AttemptBegun{1},
                        record::Supervised{2}, record::StopRequested{15}, record::AttemptFailing{},
                        record::TaskOver{Sequel::stopped, failed_with(6), {}}},
                       true));
  REQUIRE(kinds_of(events) ==
          std::vector{What::created, What::supervised, What::attempt_begun, What::ranks_started,
                      What::attempt_failing, What::attempt_hopeless, What::attempt_over,
                      What::attempt_begun, What::supervised, What::stop_requested,
                      What::attempt_failing, What::task_over});
  CHECK(events[0] == RecordedEvent{.at = 1'000, .words = "launched"});
  CHECK(events[1].words == "its launcher begins");
  CHECK(events[2].at == 1'011'000);
  CHECK(events[3].words == "4 ranks are told to start");
  CHECK(events[4] == RecordedEvent{.what = What::attempt_failing,
                                   .at = 1'013'000,
                                   .attempt = 0,
                                   .rank = 3,
                                   .host = "node02",
                                   .words = "rank 3 failed"});
  CHECK(events[7].attempt == 1);
  CHECK(events[8].words == "another launcher takes it over");
  CHECK(events[9].words == "stop requested by SIGTERM");
  CHECK(events[11].words == "stopped by SIGTERM");
  CHECK(events[11].at == 2'000'000);
}

TEST_CASE("an attempt of a trial that has shrunk starts the ranks of its place") {
  record::AttemptBegun smaller{1};
  smaller.place = TrialPlace{{{"node02", 3, {{0}, {1}, {2}}}}, {}};
  const auto events = recorded_events(
      task_of(TaskState::running),
      journal_of({record::AttemptBegun{0}, record::RanksStarted{},
                  record::AttemptOver{failed_with(6)}, smaller, record::RanksStarted{}},
                 true));
  REQUIRE(events.size() == 6);
  CHECK(events[2].words == "4 ranks are told to start");
  CHECK(events[5].words == "3 ranks are told to start");
}

TEST_CASE("entries without the wall clock have the time that their attempt tells") {
  TaskRecord task = task_of(TaskState::succeeded);
  task.ended = 5'000'000;
  task.attempts = {{0, 4'000'000, 5'000'000, "node01,node02", "", {}}};
  const std::vector<JournalRecord> records = {record::Supervised{1}, record::AttemptBegun{0},
                                              record::RanksStarted{{}},
                                              record::TaskOver{Sequel::succeeded, {}, {}}};
  const auto events = recorded_events(task, journal_of(records, false));
  REQUIRE(events.size() == 5);
  CHECK(!events[1].at);
  CHECK(events[2].at == 4'000'000);
  CHECK(!events[3].at);
  CHECK(events[4].at == 5'000'000);
}

TEST_CASE("an end that no journal has is the record's") {
  TaskRecord task = task_of(TaskState::lost);
  task.ended = 7'000;
  CHECK(recorded_events(task, {}) ==
        std::vector<RecordedEvent>{{.at = 1'000, .words = "launched"},
                                   {.what = What::task_over, .at = 7'000, .words = "lost"}});
  task.state = TaskState::running;
  CHECK(recorded_events(task, {}).size() == 1);
}

TEST_CASE("a journal may have anything") {
  const TaskRecord task = task_of(TaskState::running);
  const Failure nowhere{{0s, 0s}, make_error(ErrorClass::host, "x"), {}, 99, 0};
  const auto events = recorded_events(
      task, journal_of({record::AttemptOver{failed_with(6)}, record::AttemptFailing{nowhere},
                        record::StopRequested{runtime_over}, record::TaskOver{}},
                       true));
  REQUIRE(events.size() == 5);
  CHECK(events[2].host.empty());
  CHECK(events[3].words == "max_runtime is over");
}

TEST_CASE("a host that is left out is told with the attempt after which it is") {
  const auto events = recorded_events(
      task_of(TaskState::running),
      journal_of({record::AttemptBegun{0}, record::AttemptOver{failed_with(6), {{"h1", "x"}}}},
                 true));
  CHECK(events.back().words ==
        "attempt 0 is over, and another one follows; host 'h1' is left out from now on: x");
}

TEST_CASE("events of several trials are told with the attempts of each") {
  auto journal =
      journal_of({record::Supervised{1}, record::AttemptBegun{0}, record::AttemptBegun{0},
                  record::AttemptOver{failed_with(6)}, record::AttemptBegun{1},
                  record::RanksStarted{}, record::TrialOver{Sequel::hopeless, {}, {}}},
                 true);
  const std::vector<int> trials = {0, 0, 1, 1, 1, 0, 1};
  for (std::size_t i = 0; i < trials.size(); ++i) journal[i].trial = trials[i];
  const auto events = recorded_events(task_of(TaskState::running), journal);
  REQUIRE(kinds_of(events) == std::vector{What::created, What::supervised, What::attempt_begun,
                                          What::attempt_begun, What::attempt_over,
                                          What::attempt_begun, What::ranks_started,
                                          What::trial_over});
  CHECK(events[5].attempt == 1);
  CHECK(events[6].attempt == 0);
  CHECK(events[7].attempt == 1);
  CHECK(events[7].words.starts_with("trial 1 is over: "));
}
