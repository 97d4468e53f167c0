// SPDX-License-Identifier: Apache-2.0
// Several trials of one task, over the same connections.
#include <algorithm>

#include "launcher/drivers/task_driver.hpp"
#include "launcher/frames/frame.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"
#include "tests/launcher/run/trial_of.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

Plan plan_of(int number, const std::vector<int>& ranks_per_host) {
  Plan plan;
  plan.trial = trial_of(ranks_per_host);
  plan.trial.trial = number;
  plan.experiment.entrypoint.shell = "true";
  plan.experiment.reconnect_window = 60s;
  plan.experiment.restart_delay = 0ms;
  return plan;
}

// Four hosts. Trial 0 is on the first two, with a rank on each; the others are connected as links 2
// and 3 in the order in which trials want them.
struct TrialsOfTask {
  explicit TrialsOfTask(int max_restarts = 0) : first(plan_of(0, {1, 1})) {
    first.experiment.max_restarts = max_restarts;
    TaskDriver::Hooks hooks;
    hooks.on_trial_over = [this](int trial, const RunOutcome& outcome) {
      ended_trials.push_back({trial, outcome.succeeded});
      if (on_trial_over) on_trial_over(trial);
    };
    hooks.on_over = [this] { ++overs; };
    hooks.on_stopping = [this](const std::string& why, bool) { stopping.push_back(why); };
    TaskDriver::Work work{
        first, "t", {}, "/", [](int, int) { return std::vector<EnvironmentEntry>(); }, "boot"};
    for (const char* name : {"h0", "h1", "h2", "h3"}) work.hosts.emplace_back().name = name;
    driver.emplace(TaskDriver::Ports{timers, transport, output, {}, &journal}, std::move(work),
                   std::move(hooks));
    driver->expect_trials(true);
    driver->start();
    open_links();
  }

  void open_links() {
    for (; opened < transport.links.size(); ++opened) {
      link(opened).events.on_open({"10.0.0.1", "ssh"});
      link(opened).say(message::Hello{wire_version, "h", "boot", 1, {}});
    }
  }

  // The plan must outlive the task.
  void begin(const Plan& plan, std::vector<int> hosts) {
    TaskDriver::Hooks hooks;
    hooks.on_stopping = [this](const std::string& why, bool) { stopping.push_back(why); };
    driver->begin_trial(
        {plan, {}, [](int, int) { return std::vector<EnvironmentEntry>(); }, std::move(hosts)},
        std::move(hooks));
    journal.write();
    open_links();
  }
  void say(std::size_t host, const Message& message, AttemptId of) {
    link(host).say(about(message, of));
  }
  // All hosts of the trial have started their ranks, one for each.
  void start(AttemptId of, const std::vector<std::size_t>& hosts) {
    for (std::size_t node = 0; node < hosts.size(); ++node)
      say(hosts[node], message::Ready{node == 0 ? std::vector{1'000} : std::vector<int>(), "/run"},
          of);
    journal.write();
    for (std::size_t node = 0; node < hosts.size(); ++node)
      say(hosts[node], message::RankStarted{static_cast<int>(node), 100}, of);
  }
  void end(AttemptId of, std::size_t host, int rank, int code, bool after_stop = false) {
    say(host, message::RankEnded{rank, code, {}, false, after_stop, timers.time, {}}, of);
    say(host, message::Finished{}, of);
  }
  void print(std::size_t host, AttemptId of, int rank, std::uint64_t number, std::uint64_t begin,
             std::string bytes) {
    const OutputChunk chunk{number, rank, OutputStream::out, std::move(bytes), 1'000s, begin, of};
    link(host).events.on_bytes(
        encode_frame(FrameKind::output, encode_output(chunk, OutputPacking::none)));
  }
  ManyLinks::Made& link(std::size_t host) { return transport.links.at(host); }
  template <class M>
  std::vector<AttemptId> told(std::size_t host) {
    std::vector<AttemptId> attempts;
    for (const M& each : link(host).all<M>()) attempts.push_back(each.of);
    return attempts;
  }

  Plan first;
  HandTimers timers;
  ManyLinks transport;
  KeptOutput output;
  HandJournal journal;
  struct Ended {
    int trial;
    bool succeeded;
    bool operator==(const Ended&) const = default;
  };
  std::vector<Ended> ended_trials;
  std::function<void(int trial)> on_trial_over;
  std::vector<std::string> stopping;
  int overs = 0;
  std::size_t opened = 0;
  std::optional<TaskDriver> driver;
};

using Ids = std::vector<AttemptId>;
constexpr AttemptId zero{0, 0};
constexpr AttemptId one{1, 0};

}  // namespace

TEST_CASE("a trial begins on hosts that are connected, in an order of its own") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1, 1});
  task.begin(second, {2, 1});
  CHECK(task.transport.links.size() == 3);
  CHECK(task.told<message::Prepare>(0) == Ids{zero});
  CHECK(task.told<message::Prepare>(1) == Ids{zero, one});
  REQUIRE(task.told<message::Prepare>(2) == Ids{one});
  CHECK(task.link(2).all<message::Prepare>().front().ranks.front().rank == 0);
  CHECK(task.link(1).all<message::Prepare>().back().ranks.front().rank == 1);
  task.start(one, {2, 1});
  CHECK(task.told<message::Go>(0) == Ids{zero});
  CHECK(task.told<message::Go>(1) == Ids{zero, one});
  CHECK(task.told<message::Go>(2) == Ids{one});
  CHECK(std::count_if(task.journal.entries.begin(), task.journal.entries.end(),
                      [](const JournalEntry& entry) { return entry.trial == 1; }) == 2);
}

TEST_CASE("a host is reached when a trial wants it, and once") {
  TrialsOfTask task;
  CHECK(task.transport.links.size() == 2);
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  const Plan third = plan_of(2, {1});
  task.begin(second, {3});
  CHECK(task.transport.links.size() == 3);
  CHECK(task.told<message::Prepare>(2) == Ids{one});
  task.begin(third, {3});
  CHECK(task.transport.links.size() == 3);
  CHECK(task.told<message::Prepare>(2) == Ids{one, {2, 0}});
}

TEST_CASE("a host that cannot be reached is the failure of the trial that wants it") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  task.opened = 3;
  task.begin(second, {3});
  task.link(2).events.on_closed(make_error(ErrorClass::host, "no route"));
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, false}});
  CHECK(task.told<message::Stop>(0).empty());
  CHECK_FALSE(task.driver->over());
}

TEST_CASE("a trial is stopped alone") {
  TrialsOfTask task(1);
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1, 1});
  task.begin(second, {1, 2});
  task.start(one, {1, 2});
  task.driver->stop_trial(1, trial_stop);
  CHECK(task.told<message::Stop>(0).empty());
  CHECK(task.told<message::Stop>(1) == Ids{one});
  CHECK(task.told<message::Stop>(2) == Ids{one});
  task.end(one, 1, 0, 143, true);
  task.end(one, 2, 1, 143, true);
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, false}});
  const auto known =
      replay(task.journal.entries, Task::rules_of(second.experiment), task.timers.time, "boot");
  REQUIRE(known);
  CHECK(known->trials.at(1).task.over());
  CHECK_FALSE(known->trials.at(0).task.over());
  task.driver->stop_trial(1, trial_stop);  // too late
  task.driver->stop_trial(7, trial_stop);  // unknown
  CHECK(task.told<message::Stop>(0).empty());
}

TEST_CASE("a trial that waits for another attempt, or for a host, is stopped at once") {
  TrialsOfTask task(1);
  const Plan second = plan_of(1, {1});
  task.opened = 3;
  task.begin(second, {3});  // whose connection is not open yet
  task.driver->stop_trial(1, trial_stop);
  task.timers.pass(1s);
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, false}});
  task.start(zero, {0, 1});
  task.end(zero, 0, 0, 3);
  task.end(zero, 1, 1, 143, true);
  task.driver->stop_trial(0, trial_stop);
  task.journal.write();
  CHECK(task.ended_trials.back() == TrialsOfTask::Ended{0, false});
  CHECK_FALSE(task.driver->over());
}

TEST_CASE("a trial that fails ends alone") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1, 1});
  task.begin(second, {2, 1});
  task.start(one, {2, 1});
  task.end(zero, 0, 0, 3);
  CHECK(task.told<message::Stop>(1) == Ids{zero});
  CHECK(task.told<message::Stop>(2).empty());
  task.end(zero, 1, 1, 143, true);
  CHECK(task.ended_trials.empty());  // before it is written down
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{0, false}});
  CHECK(task.journal.count<record::TrialOver>() == 1);
  CHECK_FALSE(task.driver->over());

  task.end(one, 2, 0, 0);
  task.end(one, 1, 1, 0);
  task.journal.write();
  CHECK(task.ended_trials.back() == TrialsOfTask::Ended{1, true});
  CHECK_FALSE(task.driver->over());  // another one may follow
  task.driver->expect_trials(false);
  task.journal.write();
  CHECK(task.overs == 1);
  CHECK(task.driver->outcome().succeeded);
  for (const std::size_t host : {0u, 1u, 2u})
    CHECK(task.link(host).all<message::Bye>().size() == 1);
  const auto known =
      replay(task.journal.entries, Task::rules_of(second.experiment), task.timers.time, "boot");
  REQUIRE(known);
  CHECK(known->over);
  CHECK(known->trials.size() == 2);
}

TEST_CASE("the end of the last trial is the task's when no other is expected") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  task.begin(second, {2});
  task.start(one, {2});
  task.driver->expect_trials(false);
  task.end(one, 2, 0, 0);
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, true}});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  CHECK_FALSE(task.driver->over());
  task.journal.write();
  CHECK(task.driver->over());
  CHECK(task.journal.count<record::TrialOver>() == 1);
  CHECK(task.journal.count<record::TaskOver>() == 1);
}

TEST_CASE("whoever hears of the end of a trial begins the next one on its hosts") {
  TrialsOfTask task;
  const Plan second = plan_of(1, {1, 1});
  task.on_trial_over = [&](int trial) {
    if (trial == 0) task.begin(second, {0, 1});
  };
  task.start(zero, {0, 1});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  task.journal.write();
  CHECK(task.told<message::Prepare>(0) == Ids{zero, one});
  CHECK(task.link(0).all<message::Bye>().empty());
  CHECK(task.transport.links.size() == 2);
  task.start(one, {0, 1});
  CHECK(task.told<message::Go>(1) == Ids{zero, one});
}

TEST_CASE("the hosts of a trial let go of what it holds once its end is written down") {
  TrialsOfTask task;
  const Plan second = plan_of(1, {1, 1});
  task.on_trial_over = [&](int trial) {
    if (trial == 0) task.begin(second, {0, 1});
  };
  task.start(zero, {0, 1});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  CHECK(task.told<message::DropLeases>(0).empty());
  task.journal.write();
  for (const std::size_t host : {0u, 1u}) {
    CHECK(task.told<message::DropLeases>(host) == Ids{zero});
    // What follows finds it free.
    const auto& sent = task.link(host).sent;
    const auto drop = std::find(sent.begin(), sent.end(), Message(message::DropLeases{zero}));
    CHECK(std::none_of(sent.begin(), drop, [](const Message& each) {
      const auto* prepare = std::get_if<message::Prepare>(&each);
      return prepare != nullptr && prepare->of == one;
    }));
  }
}

TEST_CASE("a host that is away when a trial ends is told when it is back") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  task.link(1).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  task.journal.write();
  CHECK(task.told<message::DropLeases>(0) == Ids{zero});
  REQUIRE(task.transport.links.size() == 3);
  task.link(2).events.on_open({"10.0.0.1", "ssh"});
  CHECK(task.told<message::DropLeases>(2).empty());
  message::Hello hello{wire_version, "h", "boot", 1, {}};
  SECTION("also where its agent has forgotten all attempts") {}
  SECTION("and to forget the attempt") { hello.attempts = {{zero, true, message::OwnStop::none}}; }
  hello.holding = {0, 7};  // 7: nobody knows of that
  task.link(2).say(hello);
  CHECK(task.told<message::DropLeases>(2) == Ids{zero});
  CHECK(task.told<message::Forget>(2).size() == hello.attempts.size());
  CHECK_FALSE(task.link(2).is_closed);
}

TEST_CASE("a host that may not have heard that a trial is over is told again, and of no other") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  task.begin(second, {1});
  task.start(one, {1});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  task.journal.write();
  CHECK(task.told<message::DropLeases>(1) == Ids{zero});
  task.link(1).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  REQUIRE(task.transport.links.size() == 3);
  task.link(2).events.on_open({"10.0.0.1", "ssh"});
  task.link(2).say(
      message::Hello{wire_version, "h", "boot", 1, {{one, true, message::OwnStop::none}}, {0, 1}});
  CHECK(task.told<message::DropLeases>(2) == Ids{zero});
}

TEST_CASE("a host whose end a trial has not waited for lets go when that comes") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  task.begin(second, {1});
  task.say(1,
           message::Refused{make_error(ErrorClass::host, "no such directory").diagnostics,
                            ErrorClass::host},
           one);
  task.timers.pass(2s);
  task.journal.write();
  REQUIRE(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, false}});
  CHECK(task.told<message::Stop>(1) == Ids{one});
  CHECK(task.told<message::DropLeases>(1) == Ids{one});
  task.say(1, message::Finished{}, one);
  CHECK(task.told<message::DropLeases>(1) == Ids{one, one});
  CHECK_FALSE(task.link(1).is_closed);
}

TEST_CASE("a trial is restarted beside others") {
  TrialsOfTask task(1);
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1, 1});
  task.begin(second, {2, 1});
  task.start(one, {2, 1});
  task.end(zero, 0, 0, 3);
  task.end(zero, 1, 1, 143, true);
  task.timers.pass(1ms);
  task.journal.write();
  CHECK(task.told<message::Prepare>(0) == Ids{zero, {0, 1}});
  CHECK(task.told<message::Prepare>(1) == Ids{zero, one, {0, 1}});
  task.start({0, 1}, {0, 1});
  CHECK(task.told<message::Go>(1) == Ids{zero, one, {0, 1}});
  CHECK(task.ended_trials.empty());
}

TEST_CASE("output is told apart by trial, and what comes of one that is over is passed over") {
  TrialsOfTask task;
  const Plan second = plan_of(1, {1});
  const Plan third = plan_of(2, {1});
  task.begin(second, {2});
  task.begin(third, {2});
  task.start(one, {2});
  task.start({2, 0}, {2});
  task.print(2, one, 0, 1, 0, "a\n");
  task.print(2, {2, 0}, 0, 2, 0, "b\n");
  task.print(2, one, 0, 3, 2, "c\n");
  CHECK(task.output.text == "a\nb\nc\n");
  task.end(one, 2, 0, 0);
  task.journal.write();
  task.timers.pass(1ms);
  CHECK(task.told<message::Forget>(2).empty());  // its output is not kept yet
  task.output.is_kept = 3;
  task.driver->acknowledge_output();
  CHECK(task.told<message::Forget>(2) == Ids{one});
  task.print(2, one, 0, 4, 4, "late\n");
  task.say(2, message::RankEnded{0, 0, {}, false, false, task.timers.time, {}}, one);
  task.print(2, {2, 0}, 0, 5, 2, "d\n");
  CHECK(task.output.text == "a\nb\nc\nd\n");
  CHECK_FALSE(task.link(2).is_closed);
}

TEST_CASE("a host that is lost takes the trials along that are there, and no others") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  const Plan third = plan_of(2, {1});
  task.begin(second, {2});
  task.begin(third, {1});
  task.start(one, {2});
  task.start({2, 0}, {1});
  task.link(1).events.on_bytes("this is no frame of ours, whatever it may be");
  CHECK(task.told<message::Stop>(0) == Ids{zero});
  CHECK(task.told<message::Stop>(2).empty());
  task.end(zero, 0, 0, 143, true);
  task.journal.write();
  std::vector<int> ended;
  for (const auto& each : task.ended_trials) ended.push_back(each.trial);
  std::sort(ended.begin(), ended.end());
  CHECK(ended == std::vector{0, 2});
  task.end(one, 2, 0, 0);
  task.journal.write();
  CHECK(task.ended_trials.back() == TrialsOfTask::Ended{1, true});
}

TEST_CASE("a trial that gives a host up leaves it to the others") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  task.begin(second, {1});
  task.say(1,
           message::Refused{make_error(ErrorClass::host, "no such directory").diagnostics,
                            ErrorClass::host},
           one);
  task.timers.pass(2s);
  task.journal.write();
  CHECK(task.ended_trials == std::vector<TrialsOfTask::Ended>{{1, false}});
  CHECK_FALSE(task.link(1).is_closed);
  CHECK(task.told<message::Stop>(0).empty());
  task.end(zero, 1, 1, 0);
  task.end(zero, 0, 0, 0);
  task.journal.write();
  CHECK(task.ended_trials.back() == TrialsOfTask::Ended{0, true});
}

TEST_CASE("the user's stop ends all trials, and none begins any more") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  const Plan second = plan_of(1, {1});
  const Plan third = plan_of(2, {1});
  task.begin(second, {2});
  task.start(one, {2});
  task.driver->stop(2);
  task.journal.write();
  CHECK(task.told<message::Stop>(0) == Ids{zero});
  CHECK(task.told<message::Stop>(2) == Ids{one});
  task.begin(third, {2});
  CHECK(task.told<message::Prepare>(2) == Ids{one});
  task.end(one, 2, 0, 130, true);
  task.end(zero, 0, 0, 130, true);
  task.end(zero, 1, 1, 130, true);
  task.journal.write();
  CHECK(task.overs == 1);
  CHECK(task.driver->outcome().stop_signal == 2);
}

TEST_CASE("a stop while no trial runs ends the task") {
  TrialsOfTask task;
  task.start(zero, {0, 1});
  task.end(zero, 0, 0, 0);
  task.end(zero, 1, 1, 0);
  task.journal.write();
  CHECK_FALSE(task.driver->over());
  task.driver->stop(15);
  task.journal.write();
  CHECK(task.overs == 1);
}
