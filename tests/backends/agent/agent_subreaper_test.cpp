// SPDX-License-Identifier: Apache-2.0
// Agents whose subreapers end by themselves, or do not answer: what the launcher is told.
#include <signal.h>
#include <sys/resource.h>
#include <filesystem>

#include "backends/posix/proc.hpp"
#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/backends/process/hung_mount.hpp"
#include "tests/backends/process/traced_process.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr AttemptId first{0, 0};
constexpr AttemptId second{0, 1};
constexpr AttemptId other_trial{1, 0};

const std::string from_it = "the process that ranks are started from ";
const std::string no_thread =
    "could have no thread: the user's limit of processes may be reached (ulimit -u)";

struct Failing {
  int code;
  std::string words;
};

Failing any_failure() {
  return GENERATE(Failing{70, "has ended with code 70"}, Failing{71, no_thread},
                  Failing{72, "is out of memory"});
}

/// Of the only attempt that there is.
int subreaper_of(const AgentUnderTest& agent) {
  const auto children = children_of(agent.pid());
  REQUIRE(children.size() == 1);
  return children.front();
}

void end(AgentUnderTest& agent) {
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

void check_that_another_attempt_starts(AgentUnderTest& agent) {
  agent.send(message::Forget{first});
  agent.start({"exit 5"}, second);
  CHECK(agent.next<message::RankEnded>(second).code == 5);
  (void)agent.next<message::Finished>(second);
}

/// What the launcher hears of the only rank of an attempt whose subreaper ends before it is
/// started, which may be found out before or after the check of the host.
std::string reason_for_no_start(AgentUnderTest& agent) {
  (void)agent.next<message::Hello>();
  const auto answer = agent.next_of<message::Refused, message::Ready>();
  if (const auto* refused = std::get_if<message::Refused>(&answer)) {
    CHECK(refused->error_class == ErrorClass::host);
    REQUIRE(refused->problems.size() == 1);
    return refused->problems[0].message;
  }
  agent.send(message::Go{"127.0.0.1", 1});
  const auto failed = agent.next<message::RankNotStarted>();
  CHECK(failed.error_class == ErrorClass::host);
  CHECK(agent.next<message::Finished>().survivors.empty());
  return failed.reason;
}

}  // namespace

TEST_CASE(
    "a subreaper that ends by itself ends its attempt, leaves nothing, and touches no other") {
  const Failing failing = any_failure();
  AgentUnderTest agent;
  const int one = start_with_daemon(agent, "one", first).daemon;
  const int other = start_with_daemon(agent, "other", other_trial).daemon;
  TracedProcess subreaper(subreaper_above(one, agent));
  if (!subreaper.is_there()) SKIP_CASE("no process can be traced here");
  subreaper.exit(failing.code);
  const auto ended = agent.next<message::RankEnded>(first);
  CHECK(ended.signal == SIGKILL);
  CHECK(ended.parent_end == failing.words);
  CHECK(agent.next<message::Finished>(first).survivors.empty());
  CHECK_FALSE(is_running(one));
  CHECK(is_running(other));
  check_that_another_attempt_starts(agent);
  CHECK(is_running(other));
  agent.send(about(message::Stop{}, other_trial));
  CHECK(agent.next<message::RankEnded>(other_trial).parent_end.empty());
  (void)agent.next<message::Finished>(other_trial);
  end(agent);
}

TEST_CASE(
    "ranks that would be started from a subreaper that has ended by itself are told why not") {
  const Failing failing = any_failure();
  AgentUnderTest agent;
  agent.send(agent.prepare({"true", "true"}));
  (void)agent.next<message::Ready>();
  TracedProcess subreaper(subreaper_of(agent));
  if (!subreaper.is_there()) SKIP_CASE("no process can be traced here");
  subreaper.exit(failing.code);
  REQUIRE(eventually([&] { return children_of(agent.pid()).empty(); }));
  agent.send(message::Go{"127.0.0.1", 1});
  for (int rank = 0; rank < 2; ++rank)
    CHECK(agent.next<message::RankNotStarted>().reason == from_it + failing.words);
  CHECK(agent.next<message::Finished>().survivors.empty());
  check_that_another_attempt_starts(agent);
  end(agent);
}

TEST_CASE("a check that is under way when its subreaper ends by itself is not waited for long",
          "[waits]") {
  const Failing failing = any_failure();
  AgentUnderTest agent;
  HungMount hung(agent.directory().path() + "/hung");
  if (!hung.is_there()) SKIP_CASE("nothing can be mounted here");
  auto prepare = agent.prepare({"true"});
  prepare.ranks[0].working_directory = hung.path();
  agent.send(prepare);
  (void)agent.next<message::Blocked>();
  TracedProcess subreaper(subreaper_of(agent));
  if (!subreaper.is_there()) SKIP_CASE("no process can be traced here");
  subreaper.exit(failing.code);
  std::string found;
  SECTION("it comes back, and what it has found is told") {
    REQUIRE(eventually([&] { return children_of(agent.pid()).empty(); }));
    hung.break_off();
    found = "working directory";
  }
  SECTION("it does not, and what it waits for is told") {
    found = "its check does not end, and may still write there: stat of '" + hung.path() + "'";
  }
  const auto refused = agent.next<message::Refused>();
  CHECK(refused.error_class == ErrorClass::host);
  REQUIRE(refused.problems.size() == 2);
  INFO(refused.problems[0].message);
  CHECK(refused.problems[0].message.find(found) != std::string::npos);
  CHECK(refused.problems[1].message == from_it + failing.words);
  agent.send(message::Bye{});
  CHECK(agent.is_hung_up());
}

TEST_CASE("a subreaper that can watch no children says what it lacks") {
  AgentUnderTest agent({.lacks_signalfd = true});
  agent.send(agent.prepare({"touch up"}));
  CHECK(reason_for_no_start(agent).starts_with(from_it + "could have no file descriptor: "));
  end(agent);
}

// Its other thread starts ranks, and takes what each one is into memory.
TEST_CASE("a subreaper that is out of memory says so, whatever it was doing") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP_CASE("a sanitizer ends the process itself when it is out of memory");
#endif
  AgentUnderTest agent;
  agent.send(agent.prepare({"true #" + std::string(6u << 20, 'x')}));
  (void)agent.next<message::Ready>();
  const std::string threads = "/proc/" + std::to_string(subreaper_of(agent)) + "/task";
  REQUIRE(eventually([&] {  // it has its other thread by now
    return std::distance(std::filesystem::directory_iterator(threads), {}) == 2;
  }));
  const rlimit no_memory{1, 1};
  REQUIRE(::prlimit(subreaper_of(agent), RLIMIT_AS, &no_memory, nullptr) == 0);
  agent.send(message::Go{"127.0.0.1", 1});
  CHECK(agent.next<message::RankNotStarted>().reason == from_it + "is out of memory");
  CHECK(agent.next<message::Finished>().survivors.empty());
  check_that_another_attempt_starts(agent);
  end(agent);
}

// It takes all its limits: 12 s for the answer to a kill, 8 s for what the process has left.
TEST_CASE("a subreaper that the kernel holds is named, and holds up no end", "[waits]") {
  AgentUnderTest agent;
  agent.start({"exec sleep 1000"});
  (void)agent.next<message::RankStarted>();
  TracedProcess subreaper(subreaper_of(agent));
  if (!subreaper.is_there()) SKIP_CASE("no process can be traced here");
  subreaper.hold();
  const Instant stopped = boot_time();
  agent.send(message::Stop{0s});
  std::optional<message::Finished> finished;
  REQUIRE(eventually(
      [&] {
        agent.send(message::Ping{Instant(7)});
        while (true) {
          const auto next = agent.next_of<message::Pong, message::Finished>();
          if (std::holds_alternative<message::Pong>(next)) return finished.has_value();
          finished = std::get<message::Finished>(next);
        }
      },
      40s));
  CHECK(boot_time() - stopped >= 20s);
  REQUIRE(finished->survivors.size() == 1);
  CHECK(finished->survivors[0].pid == agent.pid());
  CHECK(finished->survivors[0].command == "the agent, looking for what its ranks have left");
  end(agent);
}
