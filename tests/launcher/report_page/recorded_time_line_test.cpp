// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/recorded_time_line.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

using What = RecordedEvent::What;
using enum TimeBar::Kind;

TaskRecord task_with(std::vector<AttemptRecord> attempts) {
  TaskRecord task;
  task.created = 1'000;
  task.state = TaskState::failed;
  task.ended = 9'000;
  task.attempts = std::move(attempts);
  return task;
}

AttemptRecord attempt_of(int number, UnixMillis started, UnixMillis ended, std::string cause) {
  AttemptRecord attempt;
  attempt.number = number;
  attempt.started = started;
  attempt.ended = ended;
  attempt.cause = std::move(cause);
  return attempt;
}

RecordedEvent event_of(What what, int attempt, UnixMillis at) {
  return {.what = what, .at = at, .attempt = attempt};
}

std::vector<std::pair<TimeBar::Kind, std::int64_t>> ends_of(const TimeRow& row) {
  std::vector<std::pair<TimeBar::Kind, std::int64_t>> ends;
  for (const TimeBar& bar : row.bars) ends.emplace_back(bar.kind, bar.end);
  return ends;
}

}  // namespace

TEST_CASE("each attempt of a task is a row: starting, running, being stopped") {
  const TaskRecord task = task_with(
      {attempt_of(0, 3'000, 5'000, "rank 1 failed"), attempt_of(1, 6'000, 9'000, "rank 1 failed")});
  const TimeLine line = time_line_of(
      task,
      {event_of(What::ranks_started, 0, 3'500), event_of(What::attempt_failing, 0, 4'500),
       event_of(What::ranks_started, 1, 6'500), event_of(What::attempt_failing, 1, 8'000)},
      99'000);
  REQUIRE(line.rows.size() == 3);
  CHECK(ends_of(line.rows[0]) == decltype(ends_of(line.rows[0])){{queued, 3'000}});
  CHECK(ends_of(line.rows[1]) ==
        decltype(ends_of(line.rows[1])){{starting, 3'500}, {running, 4'500}, {stopping, 5'000}});
  CHECK(line.rows[1].bars[1].ends_in_failure);
  CHECK(line.rows[1].bars[1].words == "running, 1.0s");
  CHECK(line.rows[2].remark == "rank 1 failed");
  CHECK(line.rows[2].bars.back().end == 9'000);
}

TEST_CASE("an attempt whose ranks never started has failed while it was starting") {
  const TaskRecord task = task_with({attempt_of(0, 1'000, 2'000, "a host is gone")});
  const TimeLine line = time_line_of(task, std::vector<RecordedEvent>(), 99'000);
  REQUIRE(line.rows.size() == 1);
  CHECK(ends_of(line.rows[0]) == decltype(ends_of(line.rows[0])){{starting, 2'000}});
  CHECK(line.rows[0].bars[0].ends_in_failure);
}

TEST_CASE("what runs lasts until now") {
  TaskRecord task = task_with({attempt_of(0, 1'000, 0, "")});
  task.state = TaskState::running;
  task.ended.reset();
  task.attempts[0].ended.reset();
  const TimeLine line = time_line_of(task, {event_of(What::ranks_started, 0, 1'500)}, 7'000);
  REQUIRE(line.rows.size() == 1);
  CHECK(ends_of(line.rows[0]) ==
        decltype(ends_of(line.rows[0])){{starting, 1'500}, {running, 7'000}});
  CHECK(!line.rows[0].bars[1].ends_in_failure);
}

TEST_CASE("of many attempts the first and the last are drawn") {
  std::vector<AttemptRecord> attempts;
  for (int i = 0; i < 100; ++i) attempts.push_back(attempt_of(i, 1'000 + i, 1'001 + i, "x"));
  const TimeLine line = time_line_of(task_with(attempts), std::vector<RecordedEvent>(), 9'000);
  REQUIRE(line.rows.size() == 40);
  CHECK(line.rows.front().name == "attempt 0");
  CHECK(line.rows.back().name == "attempt 99");
  CHECK(line.remark == "60 attempts after the first are not drawn.");
}

TEST_CASE("trials of a search are bars of one row, and earlier attempts of a trial have failed") {
  SearchRecord search;
  search.trials = {
      {.trial = 0,
       .state = TrialState::succeeded,
       .attempts = {{.number = 0, .started = 1'500, .ended = 2'000},
                    {.number = 1, .started = 2'100, .ended = 3'000, .ranks_started = 2'400}}},
      {.trial = 1, .state = TrialState::waiting}};
  const TimeLine line = time_line_of(task_with({}), search, 9'000);
  REQUIRE(line.rows.size() == 2);
  CHECK(line.rows[0].name == "before the first attempt");
  CHECK(ends_of(line.rows[1]) ==
        decltype(ends_of(line.rows[1])){{failed, 2'000}, {succeeded, 3'000}});
  CHECK(line.rows[1].bars[1].words == "trial 0: succeeded, 0.9s");
  CHECK(!line.rows[1].bars[0].started);
  CHECK(line.rows[1].bars[1].started == 2'400);
}

TEST_CASE("a trial whose ranks were not told to start yet is starting") {
  SearchRecord search;
  search.trials = {
      {.trial = 0, .state = TrialState::running, .attempts = {{.number = 0, .started = 1'500}}}};
  TaskRecord task = task_with({});
  task.ended.reset();
  const TimeLine line = time_line_of(task, search, 9'000);
  CHECK(ends_of(line.rows.back()) == decltype(ends_of(line.rows[0])){{starting, 9'000}});
}
