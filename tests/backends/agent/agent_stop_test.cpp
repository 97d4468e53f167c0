// SPDX-License-Identifier: Apache-2.0
// How an agent tells its ranks to end.
#include <signal.h>

#include <filesystem>

#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr milliseconds an_hour{3'600'000};  // nothing here takes as long

// The last messages of a task: afterwards the agent is gone.
void finish(AgentUnderTest& agent) {
  (void)agent.next<message::Finished>();
  agent.send(message::Bye{});
  CHECK(agent.is_hung_up());
  CHECK(agent.wait() == 0);
}

}  // namespace

namespace {

// A rank that says when it has seen its stop file, and when it gets the signal.
message::Prepare watching(const AgentUnderTest& agent, const std::string& signal) {
  auto prepare = agent.prepare(
      {"exec 2>&-; trap 'echo signalled; exit 0' " + signal +
       "; test ! -e \"$STOP\" && echo up; until test -e \"$STOP\"; do sleep 0.01; done; "
       "echo seen; while :; do sleep 0.01; done"});
  prepare.ranks[0].environment.push_back(
      {.name = "STOP", .text = {}, .at_launch = AtLaunch::stop_file});
  return prepare;
}

void await_output(AgentUnderTest& agent, const std::string& text) {
  while (agent.output().find(text) == std::string::npos) agent.next_message_or_output();
}

}  // namespace

TEST_CASE("ranks that are stopped have their stop file, then the signal that was asked for") {
  AgentUnderTest agent;
  auto prepare = watching(agent, "USR1");
  prepare.stop_signal = SIGUSR1;
  agent.send(prepare);
  agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  await_output(agent, "up\n");
  agent.send(message::Stop{an_hour, an_hour});
  await_output(agent, "seen\n");
  CHECK(agent.output() == "up\nseen\n");
  agent.send(message::Stop{an_hour});
  CHECK(agent.next<message::RankEnded>().after_stop);
  CHECK(agent.output() == "up\nseen\nsignalled\n");
  finish(agent);
}

TEST_CASE("the stop file is there before the signal, also without a notice") {
  AgentUnderTest agent;
  auto prepare =
      agent.prepare({"exec 2>&-; trap 'test -e \"$STOP\" && echo there; exit 0' TERM; echo up; "
                     "while :; do sleep 0.01; done"});
  prepare.stop_grace = an_hour;
  prepare.ranks[0].environment.push_back(
      {.name = "STOP", .text = {}, .at_launch = AtLaunch::stop_file});
  agent.send(prepare);
  agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  await_output(agent, "up\n");
  SECTION("that the launcher asks for") { agent.send(message::Stop{an_hour}); }
  SECTION("of the agent itself") { ::kill(agent.pid(), SIGTERM); }
  CHECK(agent.next<message::RankEnded>().code == 0);
  CHECK(agent.output() == "up\nthere\n");
  finish(agent);
}

TEST_CASE("a stop goes on without its file where that cannot be made, and it is said why") {
  AgentUnderTest agent;
  auto prepare =
      agent.prepare({"exec 2>&-; trap 'echo signalled; exit 0' TERM; echo up; "
                     "while :; do sleep 0.01; done"});
  agent.send(prepare);
  const std::string folder = agent.next<message::Ready>().run_directory;
  agent.send(message::Go{"127.0.0.1", 1});
  await_output(agent, "up\n");
  std::filesystem::remove_all(folder);
  agent.send(message::Stop{an_hour});
  CHECK(agent.next<message::NoStopFile>().reason.find(folder) != std::string::npos);
  CHECK(agent.next<message::RankEnded>().code == 0);
  CHECK(agent.output() == "up\nsignalled\n");
  finish(agent);
}

TEST_CASE("an attempt does not find the stop file of the one before") {
  AgentUnderTest agent;
  agent.start({"trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done"});
  await_output(agent, "up\n");
  agent.send(message::Stop{an_hour});
  (void)agent.next<message::Finished>();
  const AttemptId second{0, 1};
  auto prepare = agent.prepare({"test -e \"$STOP\" && echo old; echo \"$STOP\""});
  prepare.ranks[0].environment.push_back(
      {.name = "STOP", .text = {}, .at_launch = AtLaunch::stop_file});
  agent.send(about(prepare, second));
  (void)agent.next<message::Ready>(second);
  agent.send(about(message::Go{"127.0.0.1", 1}, second));
  (void)agent.next<message::RankEnded>(second);
  CHECK(agent.output_of(0, second) == agent.directory().path() + "/task-0/stop-1\n");
  finish(agent);
}
