// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

constexpr AttemptEnd failed{.any_started = true, .exit_code = 1};

struct TaskBench {
  explicit TaskBench(int max_restarts, milliseconds delay = 1s,
                     std::optional<milliseconds> max_runtime = {})
      : task({max_restarts, delay, 60s, max_runtime}) {
    on(task_event::Begin{});
  }
  void on(const TaskEvent& event) { last = task.on(event, now); }
  template <class Action>
  std::vector<Action> all() const {
    std::vector<Action> found;
    for (const TaskAction& action : last)
      if (const auto* a = std::get_if<Action>(&action)) found.push_back(*a);
    return found;
  }
  // The attempt that runs fails, and is over after so long.
  void fail(nanoseconds stopping = 0s) {
    on(task_event::AttemptFailing{});
    now += stopping;
    on(task_event::AttemptOver{failed});
  }
  // Until the next attempt has begun.
  nanoseconds wait() {
    REQUIRE(task.next_deadline());
    const Instant begin = now;
    now = *task.next_deadline();
    on(task_event::Tick{});
    REQUIRE(all<task_action::BeginAttempt>().size() == 1);
    return now - begin;
  }

  Task task;
  Instant now = 1'000s;
  std::vector<TaskAction> last;
};

}  // namespace

TEST_CASE("what follows an attempt") {
  struct Row {
    int number;
    AttemptEnd end;
    bool is_stopped;
    int max_restarts;
    Sequel sequel;
  };
  const AttemptEnd succeeded{.succeeded = true, .any_started = true};
  const AttemptEnd never{.any_started = false};
  const AttemptEnd invalid{.any_started = true, .exit_code = 80};
  const AttemptEnd stuck{.any_started = true, .left_processes = true, .exit_code = 1};
  const AttemptEnd hopeless{.any_started = true, .is_hopeless = true, .exit_code = 1};
  const AttemptEnd moved{.left_processes = true, .is_moved = true, .exit_code = 80};
  const AttemptEnd lucky{.succeeded = true, .any_started = true, .is_hopeless = true};
  const Row rows[] = {
      {0, hopeless, false, 5, Sequel::hopeless},
      {0, hopeless, true, 5, Sequel::stopped},
      {0, lucky, false, 5, Sequel::succeeded},
      {0, succeeded, false, 5, Sequel::succeeded},
      {0, succeeded, true, 5, Sequel::succeeded},
      {0, failed, false, 5, Sequel::restart},
      {4, failed, false, 5, Sequel::restart},
      {5, failed, false, 5, Sequel::no_restarts_left},
      {0, failed, false, 0, Sequel::no_restarts_left},
      {0, failed, true, 5, Sequel::stopped},
      {0, never, false, 5, Sequel::never_started},
      {1, never, false, 5, Sequel::restart},
      {5, never, false, 5, Sequel::no_restarts_left},
      {0, invalid, false, 5, Sequel::invalid_hyperparameters},
      {3, invalid, false, 5, Sequel::invalid_hyperparameters},
      {0, stuck, false, 5, Sequel::processes_left},
      {0, invalid, true, 5, Sequel::stopped},
      {5, moved, false, 5, Sequel::restart},
      {0, moved, true, 5, Sequel::stopped},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number, row.max_restarts, row.is_stopped);
    CHECK(sequel_of(row.number, row.end, row.is_stopped, row.max_restarts) == row.sequel);
  }
}

TEST_CASE("a task without restarts ends with its first attempt") {
  TaskBench b(0);
  CHECK(b.all<task_action::BeginAttempt>().size() == 1);
  CHECK_FALSE(b.task.may_restart());
  b.fail();
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK(b.all<task_action::End>()[0].why == Sequel::no_restarts_left);
  CHECK(b.task.over());
}

TEST_CASE("restarts are counted from the first attempt, whatever its number") {
  Task::Rules rules;
  rules.max_restarts = 1;
  Task task(rules, 3);
  const auto begun = task.on(task_event::Begin{}, Instant(0));
  REQUIRE(begun.size() == 1);
  CHECK(std::get<task_action::BeginAttempt>(begun[0]).number == 3);
  CHECK(task.may_restart());
  const auto next = task.on(task_event::AttemptOver{failed}, Instant(0));
  REQUIRE(next.size() == 1);
  CHECK(std::get<task_action::AnnounceRestart>(next[0]).number == 1);
  CHECK(task.attempt() == 4);
  CHECK_FALSE(task.may_restart());

  Task never(rules, 3);
  never.on(task_event::Begin{}, Instant(0));
  const auto end = never.on(task_event::AttemptOver{AttemptEnd{}}, Instant(0));
  CHECK(std::get<task_action::End>(end.at(0)).why == Sequel::never_started);
}

TEST_CASE("an attempt whose hosts are taken away is followed at once, and does not count") {
  TaskBench b(1, 60s);
  const AttemptEnd moved{.any_started = true, .is_moved = true};
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const auto next = b.task.on(task_event::AttemptOver{moved}, Instant(0));
    REQUIRE(next.size() == 1);
    CHECK(std::get<task_action::AnnounceRestart>(next[0]).number == 0);
    const auto begun = b.task.on(task_event::Begin{}, Instant(0));
    CHECK(std::get<task_action::BeginAttempt>(begun.at(0)).number == attempt);
    CHECK(b.task.may_restart());
  }
  b.fail();
  CHECK(b.all<task_action::AnnounceRestart>()[0].number == 1);
  CHECK(b.wait() == 60s);
  CHECK_FALSE(b.task.may_restart());
  CHECK(b.task.attempt() == 4);
}

TEST_CASE("an attempt elsewhere does not begin before the fence of the lost hosts") {
  TaskBench b(1, 5s);
  const AttemptEnd lost{.any_started = true, .fence = 60s};
  const auto next = b.task.on(task_event::AttemptOver{lost}, Instant(100s));
  REQUIRE(next.size() == 1);
  CHECK(std::get<task_action::AnnounceRestart>(next[0]).delay == 60s);
  CHECK(std::get<task_action::AnnounceRestart>(next[0]).is_fenced);
  CHECK(b.task.next_deadline() == Instant(160s));

  TaskBench late(1, 90s);
  const auto later = late.task.on(task_event::AttemptOver{lost}, Instant(100s));
  CHECK(std::get<task_action::AnnounceRestart>(later.at(0)).delay == 90s);
  CHECK_FALSE(std::get<task_action::AnnounceRestart>(later.at(0)).is_fenced);
}

TEST_CASE("max_restarts N gives N + 1 attempts and not one more") {
  TaskBench b(3);
  for (int restart = 1; restart <= 3; ++restart) {
    CHECK(b.task.may_restart());
    b.fail();
    REQUIRE(b.all<task_action::AnnounceRestart>().size() == 1);
    CHECK(b.all<task_action::AnnounceRestart>()[0].number == restart);
    CHECK(b.all<task_action::AnnounceRestart>()[0].of == 3);
    b.wait();
    CHECK(b.all<task_action::BeginAttempt>()[0].number == restart);
  }
  CHECK_FALSE(b.task.may_restart());
  b.fail();
  CHECK(b.task.over());
  CHECK(b.task.attempts().size() == 4);
}

TEST_CASE("the delay doubles with every restart, up to a minute") {
  TaskBench b(9);
  for (const nanoseconds delay : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    b.fail();
    CHECK(b.wait() == delay);
  }
}

TEST_CASE("a delay that is longer than a minute stays as it is") {
  TaskBench b(2, 300s);
  b.fail();
  CHECK(b.wait() == 300s);
  b.fail();
  CHECK(b.wait() == 300s);
}

TEST_CASE("the delay counts from the failure") {
  TaskBench b(2);
  b.fail(700ms);
  CHECK(b.all<task_action::AnnounceRestart>()[0].delay == 300ms);
  CHECK(b.wait() == 300ms);
  b.fail(5s);
  // It has passed already.
  CHECK(b.all<task_action::BeginAttempt>().size() == 1);
}

TEST_CASE("a stop during the delay ends the task at once") {
  TaskBench b(2);
  b.fail();
  b.on(task_event::StopRequested{2});
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK(b.all<task_action::End>()[0].signal == 2);
  CHECK(b.all<task_action::End>()[0].why == Sequel::stopped);
  CHECK_FALSE(b.task.next_deadline());
  CHECK(b.task.attempts().back() == AttemptState::cancelled);
}

TEST_CASE("a stop while ranks run is followed by no attempt") {
  TaskBench b(2);
  b.on(task_event::StopRequested{2});
  CHECK(b.last.empty());
  CHECK_FALSE(b.task.may_restart());
  b.fail();
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK_FALSE(b.all<task_action::End>()[0].signal);
}

TEST_CASE("a stop that comes after a failure keeps the task from going on") {
  TaskBench b(2);
  b.on(task_event::AttemptFailing{});
  b.on(task_event::StopRequested{2});
  b.on(task_event::AttemptOver{failed});
  CHECK(b.task.over());
}

TEST_CASE("the time of a task begins with its ranks, and goes on over its attempts") {
  TaskBench b(2, 1s, 100s);
  CHECK_FALSE(b.task.next_deadline());  // hosts may take long to be ready
  b.now += 1'000s;
  b.on(task_event::RanksStarting{});
  const Instant end = b.now + 100s;
  CHECK(b.task.next_deadline() == end);
  b.now += 60s;
  b.fail();
  b.wait();
  b.on(task_event::RanksStarting{});
  CHECK(b.task.next_deadline() == end);
  b.now = end - 1ns;
  b.on(task_event::Tick{});
  CHECK(b.last.empty());
  b.now = end;
  b.on(task_event::Tick{});
  REQUIRE(b.all<task_action::EndRuntime>().size() == 1);
  b.on(task_event::StopRequested{runtime_over});
  CHECK_FALSE(b.task.next_deadline());
  CHECK_FALSE(b.task.may_restart());
  b.fail();
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK(b.all<task_action::End>()[0].why == Sequel::stopped);
}

TEST_CASE("a task whose time is over while another attempt is waited for begins none") {
  TaskBench b(2, 50s, 10s);
  b.on(task_event::RanksStarting{});
  b.fail();
  CHECK(b.task.next_deadline() == b.now + 10s);
  b.now += 200s;  // nobody attended: both are due
  b.on(task_event::Tick{});
  CHECK(b.all<task_action::EndRuntime>().size() == 1);
  CHECK(b.all<task_action::BeginAttempt>().empty());
  b.on(task_event::StopRequested{runtime_over});
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK(b.all<task_action::End>()[0].signal == runtime_over);
}

TEST_CASE("a task that its user stops does not run out of time") {
  TaskBench b(0, 1s, 10s);
  b.on(task_event::RanksStarting{});
  b.on(task_event::StopRequested{2});
  CHECK_FALSE(b.task.next_deadline());
  b.now += 20s;
  b.on(task_event::Tick{});
  CHECK(b.last.empty());
}

TEST_CASE("attempts in a row without progress end the task, others do not") {
  TaskBench b(100);
  b.task = Task({100, 0s, 60s, {}, 3});
  b.on(task_event::Begin{});
  AttemptEnd vain = failed;
  vain.made_progress = false;
  const auto over = [&](const AttemptEnd& end) { b.on(task_event::AttemptOver{end}); };
  over(vain);
  over(vain);
  over(failed);  // it has made progress
  over(vain);
  AttemptEnd moved = vain;
  moved.is_moved = true;
  over(moved);
  b.on(task_event::Tick{});
  over(vain);
  CHECK_FALSE(b.task.over());
  over(vain);
  REQUIRE(b.all<task_action::End>().size() == 1);
  CHECK(b.all<task_action::End>()[0].why == Sequel::no_progress);
}

TEST_CASE("the same cause twice in a row, without progress, ends the task if it is to") {
  const bool stops = GENERATE(false, true);
  TaskBench b(100);
  b.task = Task({100, 0s, 60s, {}, 0, stops});
  b.on(task_event::Begin{});
  AttemptEnd one = failed;
  one.made_progress = false;
  one.cause = 1;
  AttemptEnd other = one;
  other.cause = 2;
  AttemptEnd unknown = one;
  unknown.cause = 0;
  AttemptEnd fruitful = one;
  fruitful.made_progress = true;
  for (const AttemptEnd& end : {one, other, one, unknown, unknown, one, fruitful, one}) {
    b.on(task_event::AttemptOver{end});
    REQUIRE_FALSE(b.task.over());
  }
  b.on(task_event::AttemptOver{one});
  CHECK(b.task.over() == stops);
  if (stops) CHECK(b.all<task_action::End>()[0].why == Sequel::same_cause);
}

TEST_CASE("the cause of an attempt is what failed, whichever rank was first") {
  RunOutcome outcome;
  outcome.ranks.resize(2);
  outcome.cause = Failure{{}, make_error(ErrorClass::worker, "rank 0 failed"), 0, 0, 1};
  outcome.ranks[0].reported = outcome.ranks[1].reported = "KeyError: 'x'";
  const auto cause = [&] { return end_of(outcome).cause; };
  const std::uint64_t first = cause();
  CHECK(first != 0);
  outcome.cause->rank = 1;
  CHECK(cause() == first);
  outcome.ranks[1].reported = "KeyError: 'y'";
  CHECK(cause() != first);
  outcome.ranks[1].reported = "KeyError: 'x'";
  outcome.cause->exit_code = 2;
  CHECK(cause() != first);
  outcome.cause->error.error_class = ErrorClass::host;
  CHECK(cause() == 0);
}
