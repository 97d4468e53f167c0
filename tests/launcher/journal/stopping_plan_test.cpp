// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/stopping_plan.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

TaskRecord recorded_task(int restarts) {
  TaskRecord task;
  task.world_size = 3;
  task.restarts = restarts;
  task.stop_notice_ms = 3'000;
  task.stop_grace_ms = 7'000;
  task.log_limit = 12'345;
  for (const auto& [rank, host] : {std::pair(0, "a"), std::pair(1, "a"), std::pair(2, "b")}) {
    RankRecord& record = task.ranks.emplace_back();
    record.rank = rank;
    record.host = host;
  }
  return task;
}

std::vector<Host> two_hosts() {
  std::vector<Host> hosts(2);
  hosts[0].name = "a";
  hosts[1].name = "b";
  return hosts;
}

}  // namespace

TEST_CASE("what it takes to stop a task is in its record") {
  const auto plan = stopping_plan(recorded_task(0), two_hosts(), {});
  REQUIRE(plan);
  CHECK(plan->experiment.stop_notice == 3s);
  CHECK(plan->experiment.stop_grace == 7s);
  CHECK(plan->experiment.log_limit == 12'345u);
  REQUIRE(plan->trial.hosts.size() == 2);
  CHECK(plan->trial.hosts[0].rank_count == 2);
  CHECK(plan->trial.hosts[1].first_rank == 2);
  CHECK_FALSE(stopping_plan(recorded_task(0), {}, {}));
}

TEST_CASE("ranks that the last attempt does not have are not looked for") {
  TaskRecord task = recorded_task(1);
  task.ranks[2].host.clear();
  const auto plan = stopping_plan(task, two_hosts(), {});
  REQUIRE(plan);
  CHECK(plan->trial.world_size == 2);
  CHECK(plan->trial.hosts.size() == 1);
}

TEST_CASE("ranks are stopped where the journal says that the last attempt is") {
  std::vector<Host> hosts = two_hosts();
  hosts.emplace_back().name = "c";
  const auto begun = [](const std::string& first, const std::string& second) {
    journal_record::AttemptBegun attempt;
    attempt.place = TrialPlace{{{first, 2, {{0}, {1}}}, {second, 1, {{0}}}}, {}};
    return JournalEntry{attempt, 1s, "boot"};
  };
  const std::size_t ranks = recorded_task(0).ranks.size();
  const auto plan = stopping_plan(recorded_task(0), hosts, {begun("a", "b"), begun("c", "b")});
  REQUIRE(plan);
  REQUIRE(plan->trial.ranks.size() == ranks);
  REQUIRE(plan->trial.hosts.size() == 2);
  // In the order of the ranks, not of the hosts.
  CHECK(plan->trial.hosts[0].host.name == "c");
  CHECK(plan->trial.hosts[1].host.name == "b");
  CHECK(plan->trial.hosts[1].first_rank == 2);
}

TEST_CASE("without a journal the last attempt that is recorded is stopped") {
  const int restarts = GENERATE(0, 1, 4);
  const TaskRecord task = recorded_task(restarts);
  auto journal = stopping_journal(task, 77);
  const auto plan = stopping_plan(task, two_hosts(), journal);
  REQUIRE(plan);
  // As whoever stops it writes it.
  journal.push_back({journal_record::Supervised{78}, 10s, "boot"});
  journal.push_back({journal_record::StopRequested{15}, 10s, "boot"});
  const auto known = replay(journal, Task::rules_of(plan->experiment), 10s, "boot");
  REQUIRE(known);
  CHECK(known->epoch == 78);
  CHECK(known->first().attempt == restarts);
  CHECK(known->first().task.attempt() == restarts);
  CHECK_FALSE(known->first().task.over());
  CHECK_FALSE(known->first().task.may_restart());
  CHECK_FALSE(known->first().go);
  CHECK(known->stop_signals == std::vector{15});
}
