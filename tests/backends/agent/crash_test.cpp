// SPDX-License-Identifier: Apache-2.0
// What ranks say before they die arrives, however they die. TRAIN_CRASHES=n: so many of them.
#include <fmt/format.h>
#include <signal.h>

#include <cstdlib>

#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr int usual_crashes = 300;
constexpr int ranks_of_attempt = 50;
constexpr std::size_t length_of_words = 4096;

int wanted_crashes() {
  const char* text = std::getenv("TRAIN_CRASHES");
  return text == nullptr ? usual_crashes : std::atoi(text);
}

std::string mark_of(int attempt, int rank) { return fmt::format("words {} {}\n", attempt, rank); }

// 4 KiB on stderr with the mark at their end, in one write.
std::string say_words(int attempt, int rank) {
  const std::string mark = mark_of(attempt, rank);
  return fmt::format("printf '%0{}d{}' 0 >&2; ", length_of_words - mark.size(),
                     mark.substr(0, mark.size() - 1) + "\\n");
}

std::string words_of(int attempt, int rank) {
  const std::string mark = mark_of(attempt, rank);
  return std::string(length_of_words - mark.size(), '0') + mark;
}

// Every way to die is that of some rank.
std::string die(int rank) {
  static const char* const ways[] = {"kill -KILL $$", "kill -SEGV $$", "kill -ABRT $$", "exit 1",
                                     "kill -TERM $$"};
  return std::string("ulimit -c 0; ") + ways[rank % 5];
}

message::Prepare prepare_of(const AgentUnderTest& agent, const std::vector<std::string>& scripts,
                            AttemptId of) {
  auto prepare = agent.prepare(scripts);
  prepare.of = of;
  return prepare;
}

void run(AgentUnderTest& agent, const message::Prepare& prepare) {
  agent.send(prepare);
  (void)agent.next<message::Ready>(prepare.of);
  agent.send(about(message::Go{"127.0.0.1", 1}, prepare.of));
}

void leave(AgentUnderTest& agent) {
  agent.send(message::Bye{});
  CHECK(agent.is_hung_up());
  CHECK(agent.wait() == 0);
}

}  // namespace

TEST_CASE("the last words of ranks that crash arrive, whatever kills them", "[once]") {
  AgentUnderTest agent;
  int crashed = 0;
  for (AttemptId of{0, 0}; crashed < wanted_crashes(); ++of.attempt) {
    std::vector<std::string> scripts;
    for (int rank = 0; rank < ranks_of_attempt; ++rank)
      scripts.push_back(say_words(of.attempt, rank) + die(rank));
    run(agent, prepare_of(agent, scripts, of));
    (void)agent.next<message::Finished>(of);
    for (int rank = 0; rank < ranks_of_attempt; ++rank)
      if (agent.output_of(rank, of) != words_of(of.attempt, rank))
        FAIL("rank " << rank << " of attempt " << of.attempt << " said "
                     << agent.output_of(rank, of).size() << " bytes");
    agent.send(about(message::Forget{}, of));
    crashed += ranks_of_attempt;
  }
  leave(agent);
}

TEST_CASE("the last words of ranks that are stopped arrive, and of those that must be killed") {
  AgentUnderTest agent;
  const AttemptId of{0, 0};
  std::vector<std::string> scripts;
  for (int rank = 0; rank < 20; ++rank) {
    const std::string words = say_words(0, rank);
    scripts.push_back(rank % 2 == 0
                          ? "trap '' TERM; echo up; " + words + "while :; do sleep 1; done"
                          : "say() { trap - TERM; " + words + die(rank) +
                                "; }; trap say TERM; echo up; while :; do sleep 0.05; done");
  }
  run(agent, prepare_of(agent, scripts, of));
  for (int rank = 0; rank < 20; ++rank)
    while (agent.output_of(rank).empty()) (void)agent.next_message_or_output();
  agent.send(about(message::Stop{std::chrono::hours(1)}, of));
  for (int ended = 0; ended < 10; ++ended) CHECK(agent.next<message::RankEnded>(of).rank % 2 == 1);
  agent.send(about(message::Stop{milliseconds(100)}, of));
  (void)agent.next<message::Finished>(of);
  for (int rank = 0; rank < 20; ++rank) {
    CAPTURE(rank);
    CHECK(agent.output_of(rank).find(words_of(0, rank)) != std::string::npos);
  }
  leave(agent);
}

TEST_CASE("the last words of ranks that crash arrive while what ranks print is dropped") {
  AgentUnderTest agent({.credit = 0});
  const AttemptId of{0, 0};
  // Rank 0 floods; the others begin when nothing more of it is kept.
  std::vector<std::string> scripts = {
      "head -c 12000000 /dev/zero | tr '\\0' x; : >full; exec sleep 1000"};
  for (int rank = 1; rank < 20; ++rank)
    scripts.push_back(fmt::format(
        "while [ ! -e full ]; do sleep 0.05; done; printf '%0100000d' 1; {} printf '%09000d' 2; {}",
        say_words(0, rank), die(rank)));
  auto prepare = prepare_of(agent, scripts, of);
  prepare.spool = {0, true};
  run(agent, prepare);
  for (int ended = 1; ended < 20; ++ended) CHECK(agent.next<message::RankEnded>(of).rank > 0);
  agent.reconnect();
  agent.send(about(message::Stop{milliseconds(100)}, of));
  (void)agent.next<message::Finished>(of);
  for (int rank = 1; rank < 20; ++rank) {
    CAPTURE(rank);
    const std::string& output = agent.output_of(rank);
    CHECK(output.size() == 100'000 + length_of_words + 9'000);
    // Its streams are read one beside the other.
    CHECK(output.find('?') != output.npos);
    CHECK(output.find(words_of(0, rank)) != output.npos);
    CHECK(output.find(std::string(4'000, '0') + '2') != output.npos);
  }
  leave(agent);
}
