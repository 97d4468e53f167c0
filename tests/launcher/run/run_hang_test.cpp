// SPDX-License-Identifier: Apache-2.0
// Ranks from which nothing comes.
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

RunBench silent_bench(milliseconds hang_timeout, milliseconds window = 0s) {
  return RunBench({2, 1}, 10s, {}, Run::Delivery::nothing, window, Run::Hosts::dismissed,
                  brief_launcher_wait, 0s, false, 0s, hang_timeout);
}

// Lets time pass in heartbeats, which all hosts answer. Returns the hosts that are asked about
// their ranks at its end.
std::vector<int> pass(RunBench& b, nanoseconds time) {
  const Instant end = b.now + time;
  while (!b.run.over() && *b.next_deadline() <= end) {
    b.now = std::max(b.now, *b.next_deadline());
    b.tick();
    if (const auto asked = b.told<message::LookAtRanks>(); !asked.empty()) return asked;
    for (int host = 0; host < b.hosts(); ++host) b.pong(host);
  }
  b.now = end;
  return {};
}

bool wants_states(const RunBench& b) {
  for (const auto& send : b.all<host_action::Send>())
    if (const auto* m = std::get_if<message::LookAtRanks>(&send.message)) return m->wants_states;
  return false;
}

RankState state_of(int rank, const std::string& letter) {
  RankState state;
  state.rank = rank;
  state.pid = 100 + rank;
  state.command = "python3";
  state.state = letter;
  return state;
}

// The bench's ranks are silent for their time, and these are their states.
void hang(RunBench& b, const std::vector<std::string>& letters) {
  pass(b, 60s);
  b.say(0, message::RanksSeen{});
  b.say(1, message::RanksSeen{});
  b.say(0, message::RanksSeen{true, {}, {state_of(0, letters[0]), state_of(1, letters[1])}});
  b.say(1, message::RanksSeen{true, {}, {state_of(2, letters[2])}});
}

// All ranks were stopped.
void end(RunBench& b) {
  for (const int rank : {0, 1, 2}) b.ended(rank, std::nullopt, true);
  b.finished(0);
  b.finished(1);
}

}  // namespace

TEST_CASE("silent ranks are looked at before they are stopped, and the odd one is the cause") {
  RunBench b = silent_bench(60s);
  b.start();
  CHECK(pass(b, 59s).empty());
  CHECK(pass(b, 1s) == std::vector{0, 1});
  CHECK_FALSE(wants_states(b));
  b.say(0, message::RanksSeen{});
  CHECK(b.told<message::LookAtRanks>().empty());
  b.say(1, message::RanksSeen{});
  CHECK(b.told<message::LookAtRanks>() == std::vector{0, 1});
  CHECK(wants_states(b));
  b.say(0, message::RanksSeen{true, {}, {state_of(0, "S"), state_of(1, "S")}});
  CHECK(b.told<message::Stop>().empty());
  b.say(1, message::RanksSeen{true, {}, {state_of(2, "T")}});
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  REQUIRE(b.has<run_action::Hangs>());
  CHECK(b.all<run_action::Hangs>()[0].report.states.size() == 3);
  end(b);
  CHECK(b.cause() ==
        "rank 2 on h1, unlike the others: python3 is stopped by a signal (SIGSTOP); nothing has "
        "come from any rank for 60 s (hang_timeout)");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::hang);
  CHECK(b.outcome().cause->host == 1);
  CHECK(b.outcome().cause->rank == 2);
}

TEST_CASE("ranks that all do the same blame no host") {
  RunBench b = silent_bench(60s);
  b.start();
  hang(b, {"S", "S", "S"});
  end(b);
  CHECK(b.cause() == "nothing has come from any rank for 60 s (hang_timeout), and all do the same");
  CHECK(b.outcome().cause->host == -1);
}

TEST_CASE("output of any rank keeps the trial alive, and a heartbeat file does") {
  RunBench b = silent_bench(60s);
  b.start();
  pass(b, 50s);
  b.on(connection_event::HostPrinted{0, 10});
  CHECK(pass(b, 59s).empty());
  CHECK(pass(b, 1s) == std::vector{0, 1});
  b.say(0, message::RanksSeen{false, milliseconds(30s), {}});
  b.say(1, message::RanksSeen{});
  CHECK(b.told<message::LookAtRanks>().empty());
  CHECK(pass(b, 29s).empty());
  CHECK(pass(b, 1s) == std::vector{0, 1});
}

TEST_CASE("ranks that wait for room for their output do not hang") {
  RunBench b = silent_bench(60s);
  b.start();
  pass(b, 30s);
  b.say(1, message::OutputBlocked{true, 100});
  CHECK(pass(b, 200s).empty());
  b.say(1, message::OutputBlocked{false, 0});
  CHECK(pass(b, 59s).empty());
  CHECK(pass(b, 1s) == std::vector{0, 1});
}

TEST_CASE("the silence of a host that is out of reach does not count") {
  RunBench b = silent_bench(20s, 600s);
  b.start();
  pass(b, 10s);
  b.lose(1);
  CHECK(pass(b, 400s).empty());
  CHECK_FALSE(b.run.has_failed());
}

TEST_CASE("a rank that does otherwise than most is named, and its host not blamed") {
  RunBench b = silent_bench(60s);
  b.start();
  hang(b, {"S", "S", "R"});
  end(b);
  CHECK(
      b.cause() ==
      "rank 2 on h1, unlike the others: python3 computes; nothing has come from any rank for 60 s "
      "(hang_timeout)");
  CHECK(b.outcome().cause->host == -1);
}

TEST_CASE("when all ranks have ended there is nothing that hangs") {
  RunBench b = silent_bench(60s);
  b.start();
  for (const int rank : {0, 1, 2}) b.ended(rank, 0);
  CHECK(pass(b, 100s).empty());
  CHECK_FALSE(b.run.has_failed());
}

TEST_CASE("ranks that start late have their whole time") {
  RunBench b = silent_bench(60s);
  for (int host = 0; host < b.hosts(); ++host) b.open(host);
  for (int host = 0; host < b.hosts(); ++host) b.ready(host);
  pass(b, 50s);
  for (const int rank : {0, 1, 2}) b.say(rank / 2, message::RankStarted{rank, 100 + rank});
  CHECK(pass(b, 59s).empty());
  CHECK(pass(b, 1s) == std::vector{0, 1});
}

TEST_CASE("a stop while hosts are asked leaves nothing to be done about a hang") {
  RunBench b = silent_bench(60s);
  b.start();
  pass(b, 60s);
  b.interrupt();
  b.say(0, message::RanksSeen{false, milliseconds(1), {}});
  CHECK(b.closed().empty());
  const auto next = b.run.next_deadline();
  REQUIRE(next);
  CHECK(*next > b.now + 10s);
}

TEST_CASE("hosts whose ranks have all ended are not asked") {
  RunBench b = silent_bench(60s);
  b.start();
  b.ended(2, 0);
  CHECK(pass(b, 60s) == std::vector{0});
}

TEST_CASE("an answer that nobody waits for changes nothing, one about others' ranks is refused") {
  RunBench b = silent_bench(60s);
  b.start();
  b.say(0, message::RanksSeen{});
  CHECK(b.closed().empty());
  b.say(0, message::RanksSeen{true, {}, {state_of(2, "S")}});
  CHECK(b.closed() == std::vector{0});
}

TEST_CASE("ten silent minutes are told once, without a timeout") {
  RunBench b = silent_bench(0s);
  b.start();
  CHECK(pass(b, 600s) == std::vector{0, 1});
  b.say(0, message::RanksSeen{});
  b.say(1, message::RanksSeen{});
  REQUIRE(b.all<host_action::Note>().size() == 1);
  CHECK(b.all<host_action::Note>()[0].text ==
        "no rank has printed or reported anything, or touched its heartbeat file, for 10 min");
  CHECK(pass(b, 3600s).empty());
}
