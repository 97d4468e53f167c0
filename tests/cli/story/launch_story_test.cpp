// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_story.hpp"

#include <memory>

#include "backends/store/sqlite_task_store.hpp"
#include "launcher/record/task_record.hpp"
#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace train;

namespace {

// A story that goes on with attempt 0, of which the record has 5 reports and 1 other line.
struct AdoptedStory {
  AdoptedStory() {
    AttemptRecord attempt;
    attempt.reports = 5;
    attempt.ignored_lines = 1;
    attempt.last_report = R"({"step":4})";
    task.attempts.push_back(attempt);
    task.id = "3f9c";
    REQUIRE(store->create(task));
    hooks = story.hooks(0, [] {});
  }
  const AttemptRecord& attempt() const { return task.attempts.front(); }

  train::testing::TemporaryFolder folder;
  std::shared_ptr<SqliteTaskStore> store = SqliteTaskStore::open(folder.path().string()).value();
  Loop loop;
  Terminal terminal{[] {}};
  RankOutput shown{terminal, {}};
  Trial trial;
  TaskRecord task;
  TaskRecorder recorder{loop, store, task, [](const TerminalText&) {}};
  EventTime time{loop, [] { return nanoseconds(1); }};
  LaunchStory story{terminal, shown, trial, task, recorder, time};
  TaskDriver::Hooks hooks;
};

ReportCount counted(std::uint64_t reports, std::uint64_t ignored, bool is_whole = true) {
  return {reports, ignored, R"({"step":8})", is_whole};
}

LogPolicy policy(std::string name, std::string pattern) {
  LogPolicy made;
  made.name = std::move(name);
  made.pattern = std::move(pattern);
  return made;
}

}  // namespace

TEST_CASE("the CPUs of a rank are on record as long as its attempt is the last") {
  AdoptedStory adopted;
  adopted.task.ranks.resize(2);
  adopted.hooks.on_bound(1, {0, 1, 2, 8});
  CHECK(adopted.task.ranks[0].cpus.empty());
  CHECK(adopted.task.ranks[1].cpus == "0-2,8");
  adopted.hooks.on_attempt(1, {});
  CHECK(adopted.task.ranks[1].cpus.empty());
}

TEST_CASE("what a record was written too early for is in the logs") {
  AdoptedStory adopted;
  SECTION("nothing has come since") {
    adopted.story.counted_before(counted(9, 2));
    CHECK(adopted.attempt().reports == 9);
    CHECK(adopted.attempt().last_report == R"({"step":8})");
  }
  SECTION("something has") {
    adopted.hooks.on_report({0, R"({"step":9})"});
    adopted.hooks.on_report({1, "{}"});
    adopted.story.counted_before(counted(9, 2));
    CHECK(adopted.attempt().reports == 11);
    CHECK(adopted.attempt().last_report == R"({"step":9})");
  }
  // What had been received was counted, and comes once more where it was not written down.
  SECTION("there is less") {
    adopted.story.counted_before(counted(4, 1));
    CHECK(adopted.attempt().reports == 4);
  }
  SECTION("there is less since the oldest part of the logs had to go") {
    adopted.story.counted_before(counted(4, 0, false));
    CHECK(adopted.attempt().reports == 5);
    CHECK(adopted.attempt().ignored_lines == 1);
  }
}

TEST_CASE("the record of an attempt says which policies have found their lines") {
  const std::vector<LogPolicy> policies = {policy("worn out", "memory"), policy("", "a 'b'"),
                                           policy("", "never"), policy("worn out", "ECC")};
  AttemptRecord attempt;
  CHECK(recorded_matches(attempt, policies).empty());
  attempt.log_policies = {"log policy 'worn out' has found its line, printed by rank 0 on 'h'",
                          "log policy 'a 'b'' has found its line, printed by rank 0 on 'h'"};
  CHECK(recorded_matches(attempt, policies) == std::vector<std::size_t>{0, 1});
  attempt.log_policies.push_back(attempt.log_policies.front());
  CHECK(recorded_matches(attempt, policies) == std::vector<std::size_t>{0, 1, 3});
}
