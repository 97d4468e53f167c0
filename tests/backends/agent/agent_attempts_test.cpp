// SPDX-License-Identifier: Apache-2.0
// The agent's process with several attempts: one after the other, and trials beside each other.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <utility>

#include "backends/attempt/agent_leases.hpp"
#include "backends/posix/proc.hpp"
#include "backends/visits/host_inspection.hpp"
#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr AttemptId first{0, 0};
constexpr AttemptId second{0, 1};
constexpr AttemptId other_trial{1, 0};

void end(AgentUnderTest& agent) {
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

}  // namespace

TEST_CASE("another attempt starts in the same run directory, with nothing of the one before") {
  AgentUnderTest agent;
  agent.start({daemon("daemon") + "echo mine > $(dirname $TORCHELASTIC_ERROR_FILE)/mine; "
                                  "echo trouble > $TORCHELASTIC_ERROR_FILE; echo one; "
                                  "while [ ! -s daemon ]; do sleep 0.01; done; exit 3"},
              first);
  const auto ended = agent.next<message::RankEnded>(first);
  CHECK(ended.code == 3);
  CHECK(ended.error_file == "trouble\n");
  CHECK(agent.next<message::Finished>(first).survivors.empty());
  CHECK_FALSE(is_running(process_in(agent, "daemon")));
  agent.send(message::Forget{first});
  agent.start({"cat $(dirname $TORCHELASTIC_ERROR_FILE)/mine; "
               "test ! -e $TORCHELASTIC_ERROR_FILE && echo two"},
              second);
  CHECK(agent.next<message::RankEnded>(second).code == 0);
  (void)agent.next<message::Finished>(second);
  CHECK(agent.output_of(0, first) == "one\n");
  CHECK(agent.output_of(0, second) == "mine\ntwo\n");
  end(agent);
}

TEST_CASE("files and ports of another attempt are its own") {
  AgentUnderTest agent;
  std::string told;
  for (const AttemptId of : {first, second}) {
    auto prepare = agent.prepare({"true"});
    prepare.hold_ports = 2;
    prepare.files = {{"data.json", "attempt " + std::to_string(of.attempt)}};
    agent.send(about(prepare, of));
    const auto ready = agent.next<message::Ready>(of);
    CHECK(ready.held_ports.size() == 2);
    std::getline(std::ifstream(ready.run_directory + "/data.json"), told);
    CHECK(told == "attempt " + std::to_string(of.attempt));
    agent.send(about(message::Stop{}, of));
    (void)agent.next<message::Finished>(of);
  }
  end(agent);
}

TEST_CASE("of two trials one is killed whole, and the other one lives on") {
  AgentUnderTest agent;
  const int one = start_with_daemon(agent, "one", first).daemon;
  const auto [rank, other] = start_with_daemon(agent, "other", other_trial);
  agent.send(about(message::Stop{}, first));
  CHECK(agent.next<message::RankEnded>(first).signal == SIGKILL);
  (void)agent.next<message::Finished>(first);
  CHECK_FALSE(is_running(one));
  CHECK(is_running(other));
  CHECK(is_running(rank));
  agent.send(message::Forget{first});
  agent.start({"echo again"}, second);
  CHECK(agent.next<message::RankEnded>(second).code == 0);
  (void)agent.next<message::Finished>(second);
  CHECK(is_running(other));
  agent.send(about(message::Stop{}, other_trial));
  (void)agent.next<message::Finished>(other_trial);
  CHECK_FALSE(is_running(other));
  end(agent);
}

TEST_CASE("each of two trials is told again after a reconnect, and its output is whole") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"echo one; exec sleep 1000"});
  prepare.reconnect_window = milliseconds(20'000);
  for (const AttemptId of : {first, other_trial}) {
    agent.send(about(prepare, of));
    (void)agent.next<message::Ready>(of);
    agent.send(about(message::Go{"127.0.0.1", 1}, of));
    (void)agent.next<message::RankStarted>(of);
  }
  agent.reconnect();
  CHECK(agent.next<message::Hello>().attempts.size() == 2);
  CHECK(agent.next<message::RankStarted>().of == first);
  CHECK(agent.next<message::RankStarted>().of == other_trial);
  for (const AttemptId of : {first, other_trial}) {
    while (agent.output_of(0, of).empty()) (void)agent.next_message_or_output();
    agent.send(about(message::Stop{}, of));
    (void)agent.next<message::Finished>(of);
    CHECK(agent.output_of(0, of) == "one\n");
  }
  end(agent);
}

TEST_CASE("a subreaper that is killed ends its attempt, leaves nothing, and touches no other") {
  AgentUnderTest agent;
  const int one = start_with_daemon(agent, "one", first).daemon;
  const int other = start_with_daemon(agent, "other", other_trial).daemon;
  const int subreaper = subreaper_above(one, agent);
  REQUIRE(subreaper != 0);
  REQUIRE(subreaper_above(other, agent) != subreaper);
  ::kill(subreaper, SIGKILL);
  CHECK(agent.next<message::RankEnded>(first).signal == SIGKILL);
  CHECK(agent.next<message::Finished>(first).survivors.empty());
  CHECK_FALSE(is_running(one));
  CHECK(is_running(other));
  agent.send(message::Forget{first});
  agent.start({"echo again"}, second);
  CHECK(agent.next<message::RankEnded>(second).code == 0);
  (void)agent.next<message::Finished>(second);
  agent.send(about(message::Stop{}, other_trial));
  (void)agent.next<message::Finished>(other_trial);
  CHECK_FALSE(is_running(other));
  end(agent);
}

TEST_CASE("a subreaper that is killed while a host is ready has the attempt fail") {
  AgentUnderTest agent;
  agent.send(agent.prepare({"true", "true"}));
  (void)agent.next<message::Ready>();
  const auto children = children_of(agent.pid());
  REQUIRE(children.size() == 1);
  ::kill(children.front(), SIGKILL);
  REQUIRE(eventually([&] { return children_of(agent.pid()).empty(); }));
  agent.send(message::Go{"127.0.0.1", 1});
  const auto failed = agent.next<message::RankNotStarted>();
  CHECK(failed.reason == "the process that ranks are started from was killed by SIGKILL");
  (void)agent.next<message::Finished>();
  end(agent);
}

TEST_CASE("a subreaper that is killed at any moment of a start: each rank has one end, told once",
          "[once]") {
  AgentUnderTest agent;
  std::mt19937 random(7);
  const std::vector<std::string> scripts(16, "exec true");
  for (int attempt = 0; attempt < 60; ++attempt) {
    const AttemptId of{0, attempt};
    agent.send(about(agent.prepare(scripts), of));
    (void)agent.next<message::Ready>(of);
    const auto children = children_of(agent.pid());
    REQUIRE(children.size() == 1);
    agent.send(about(message::Go{"127.0.0.1", 1}, of));
    ::usleep(std::uniform_int_distribution<unsigned>(0, 20'000)(random));  // waits: at any moment
    ::kill(children.front(), SIGKILL);
    // Of each rank: whether it was started, and how often its end was told.
    std::map<int, bool> started;
    std::map<int, int> ends;
    while (true) {
      const Message message = agent.next_message();
      if (const auto* finished = std::get_if<message::Finished>(&message)) {
        CHECK(finished->survivors.empty());
        break;
      }
      if (const auto* start = std::get_if<message::RankStarted>(&message)) {
        CHECK_FALSE(std::exchange(started[start->rank], true));
        CHECK(ends[start->rank] == 0);
      }
      if (const auto* end = std::get_if<message::RankEnded>(&message)) {
        CHECK(started[end->rank]);
        CHECK((end->code == 0 || end->signal == SIGKILL));
        ++ends[end->rank];
      }
      if (const auto* not_started = std::get_if<message::RankNotStarted>(&message)) {
        CHECK_FALSE(started[not_started->rank]);
        CHECK(not_started->reason.starts_with("the process that ranks are started from "));
        ++ends[not_started->rank];
      }
    }
    CHECK(ends.size() == scripts.size());
    for (const auto& [rank, count] : ends) {
      CAPTURE(attempt, rank);
      CHECK(count == 1);
    }
    agent.send(message::Forget{of});
    REQUIRE(eventually([&] { return children_of(agent.pid()).empty(); }));
  }
  end(agent);
}

#ifdef __SANITIZE_THREAD__
constexpr int threads_of_sanitizer = 2;  // its own one, and that of a process that was forked
#else
constexpr int threads_of_sanitizer = 0;
#endif

TEST_CASE("attempts leave one process for the next in their agent, and no thread or descriptor") {
  AgentUnderTest agent;
  const std::string process = "/proc/" + std::to_string(agent.pid());
  const auto entries = [&](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(process + folder), {});
  };
  std::vector<std::ptrdiff_t> descriptors;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const AttemptId of{0, attempt};
    agent.start({"echo x"}, of);
    (void)agent.next<message::Finished>(of);
    agent.send(message::Forget{of});
    agent.send(message::Ping{Instant(1)});
    (void)agent.next<message::Pong>();  // by now it has forgotten
    REQUIRE(eventually([&] { return children_of(agent.pid()).size() == 1; }));
    REQUIRE(eventually([&] { return entries("/task") == 1 + threads_of_sanitizer; }));
    descriptors.push_back(settled([&] { return entries("/fd"); }));
  }
  CHECK(descriptors.back() == descriptors.front());
  end(agent);
}

TEST_CASE("what a trial held is free for the next one as soon as it is told to let go") {
  TemporaryDirectory folder;
  AgentSetup setup;
  setup.lease_folder = folder.path();
  AgentUnderTest agent(setup);
  AgentMeans means;
  means.lease_folder = folder.path();
  for (int trial = 0; trial < 10; ++trial) {
    const AttemptId of{trial, 0};
    auto prepare = agent.prepare({"true"});
    prepare.task_id = "abcd2345";
    prepare.leases.wants = {{{LeaseKey::Kind::place, 0, {}}, lease_units, lease_units}};
    agent.send(about(prepare, of));
    (void)agent.next<message::Ready>(of);
    CHECK(agent.next<message::Leases>(of).blockers.empty());
    // Another task finds it held, and by this trial itself.
    AgentLeases others("wxyz2345-0", means);
    message::Prepare wanted = prepare;
    wanted.task_id = "wxyz2345";
    CHECK(others.take(wanted, {})->size() == 1);
    agent.send(about(message::Go{"127.0.0.1", 1}, of));
    (void)agent.next<message::Finished>(of);
    agent.send(about(message::DropLeases{}, of));
  }
  REQUIRE(eventually([&] { return inspect_host(means).holders.empty(); }));
  end(agent);
}
