// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// Time passes as on a host that answers every ping and says again and again what it waits for.
void wait_blocked(RunBench& b, int host, nanoseconds time,
                  message::Blocked blocked = {"stat of '/nfs/x'"}) {
  const Instant end = b.now + time;
  for (; b.now < end && !b.run.over(); blocked.so_far += 2s) {
    b.say(host, blocked);
    b.wait(2s);
    b.tick();
    for (int other = 0; other < b.hosts() && !b.run.over(); ++other) b.pong(other);
  }
}

std::vector<std::string> notes(const RunBench& b) {
  std::vector<std::string> texts;
  for (const auto& note : b.all<host_action::Note>()) texts.push_back(note.text);
  return texts;
}

}  // namespace

TEST_CASE("a host whose file system takes long is waited for as long as it answers pings") {
  RunBench b({1, 1});
  b.open(0);
  b.open(1);
  b.ready(1);
  wait_blocked(b, 0, 40s);
  REQUIRE_FALSE(b.run.over());
  b.ready(0);
  CHECK(b.started() == std::vector{0, 1});
}

TEST_CASE("what a host waits for is told the user once, after some seconds") {
  RunBench b({1});
  b.open(0);
  b.say(0, message::Blocked{"stat of '/nfs/x'", 4s});
  CHECK(notes(b).empty());
  b.say(0, message::Blocked{"stat of '/nfs/x'", 6s});
  CHECK(notes(b) == std::vector<std::string>{
                        "host 'h0': its file system has not answered for 6 s: stat of '/nfs/x'"});
  b.say(0, message::Blocked{"stat of '/nfs/x'", 8s});
  CHECK(notes(b).empty());
}

TEST_CASE("however many hosts wait, the user is told of a few") {
  RunBench b(std::vector<int>(100, 1));
  std::size_t told = 0;
  for (int host = 0; host < b.hosts(); ++host) b.open(host);
  for (int host = 0; host < b.hosts(); ++host) {
    b.say(host, message::Blocked{"stat of '/nfs/x'", 6s});
    told += notes(b).size();
  }
  CHECK(told == 3);
}

TEST_CASE("a host that is never ready is reported with what it waits for") {
  RunBench b({1, 1});
  b.open(0);
  b.open(1);
  b.ready(1);
  wait_blocked(b, 0, 100s);
  REQUIRE(b.run.over());
  CHECK(b.cause().find("host 'h0': was not ready: its file system has not answered for ") == 0);
  CHECK(b.cause().find("stat of '/nfs/x'") != std::string::npos);
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
}

TEST_CASE("a host that waits for memory of its GPUs has its time for that as well") {
  const message::Blocked memory{"3.0 of 40.0 GiB of GPU 1 are in use", {}, true};
  const milliseconds gpu_wait = GENERATE(0ms, 100'000ms);
  RunBench b({1}, 10s, {}, Run::Delivery::nothing, 0ms, Run::Hosts::dismissed, brief_launcher_wait,
             0ms, false, gpu_wait);
  b.open(0);
  b.say(0, message::Blocked{memory.what, 6s, true});
  CHECK(notes(b) == std::vector<std::string>{"host 'h0': the memory of its GPUs has not been free "
                                             "for 6 s: 3.0 of 40.0 GiB of GPU 1 are in use"});
  wait_blocked(b, 0, 58s + gpu_wait, memory);
  CHECK_FALSE(b.run.over());
  wait_blocked(b, 0, 4s, memory);
  REQUIRE(b.run.over());
  CHECK(b.cause().find("host 'h0': was not ready: the memory of its GPUs has not been free for ") ==
        0);
  CHECK(b.cause().find("file system") == std::string::npos);
}

TEST_CASE("what a host waited for long ago is not why it is not ready") {
  RunBench b({1});
  b.open(0);
  b.say(0, message::Blocked{"stat of '/nfs/x'", 6s});
  for (int i = 0; i < 40 && !b.run.over(); ++i) {
    b.wait(2s);
    b.tick();
    if (!b.run.over()) b.pong(0);
  }
  CHECK(b.cause() == "host 'h0': was not ready after 60 s");
}

TEST_CASE("ranks that cannot be started for a minute end the run, with what they wait for") {
  RunBench b({1, 1});
  for (int host = 0; host < 2; ++host) b.open(host);
  for (int host = 0; host < 2; ++host) b.ready(host);
  b.say(1, message::RankStarted{1, 100});
  b.say(0, message::Blocked{"start of rank 0 in '/nfs/x'", 59s});
  CHECK(notes(b).size() == 1);
  CHECK(b.told<message::Stop>().empty());
  b.say(0, message::Blocked{"start of rank 0 in '/nfs/x'", 61s});
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.ended(1, {}, true);
  b.finished(0);
  b.finished(1);
  CHECK(b.cause() ==
        "host 'h0': does not start its ranks: its file system has not answered for 61 s: start of "
        "rank 0 in '/nfs/x'");
}

TEST_CASE("who took a port is the cause, also when the rank that missed it failed before") {
  RunBench b({1, 1});
  b.start();
  const bool is_rank_first = GENERATE(false, true);
  b.wait(3s);
  if (is_rank_first) b.ended(0, 1);
  b.wait(50ms);
  b.say(0, message::PortTaken{1'000, 65'534});
  if (!is_rank_first) CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.say(0, message::PortTaken{1'000, 65'534});  // said twice, counted once
  if (!is_rank_first) b.ended(0, {}, true);
  b.ended(1, {}, true);
  b.finished(0);
  b.finished(1);
  CHECK(b.cause() ==
        "host 'h0': port 1000, which was held for the ranks, is listened on by user 65534 (process "
        "unknown)");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
  CHECK(b.outcome().others.size() == (is_rank_first ? 1 : 0));
  CHECK(b.outcome().leftovers.empty());
}

TEST_CASE("a port that the host does not hold cannot have been taken from it") {
  RunBench b({1, 1});
  b.start();
  b.say(1, message::PortTaken{1'010, 65'534});
  CHECK(b.closed() == std::vector{1});
}

TEST_CASE("an agent that fails is the cause, in its own words, and its ranks are stopped") {
  RunBench b({1, 1});
  const auto failed = message::AgentFailed{"cannot start a thread: resource unavailable"};
  const std::string cause = "host 'h0': its agent failed: " + failed.reason;
  SECTION("before the ranks start") {
    b.open(0);
    b.open(1);
    b.say(0, failed);
    CHECK(b.closed() == std::vector{0});
    b.ready(1);
    CHECK(b.cause() == cause);
  }
  SECTION("while they run") {
    b.start();
    b.say(0, failed);
    CHECK(b.told<message::Stop>() == std::vector{0, 1});
    b.ended(0, {}, true);
    b.ended(1, {}, true);
    b.finished(1);
    SECTION("and it ends in order") {
      b.finished(0);
      CHECK(b.outcome().leftovers.empty());
    }
    SECTION("and its connection goes") {
      b.lose(0);
      CHECK(b.outcome().leftovers.size() == 1);
    }
    CHECK(b.cause() == cause);
  }
}

TEST_CASE("an agent that says again and again that it fails has failed once") {
  RunBench b({1, 1});
  b.start();
  for (int i = 0; i < 50; ++i) b.say(0, message::AgentFailed{"out of memory"});
  b.ended(0, {}, true);
  b.ended(1, {}, true);
  b.finished(0);
  b.finished(1);
  CHECK(b.cause() == "host 'h0': its agent failed: out of memory");
  CHECK(b.outcome().others.empty());
}

TEST_CASE("a host that says without end what changes nothing is cut off") {
  const auto message =
      GENERATE(as<Message>{}, message::Pong{1s, 1s}, message::Hello{}, message::Blocked{"x", 1s},
               message::PortTaken{1'000, 1}, message::StopsRanks{}, message::AgentFailed{"x"});
  RunBench b({1, 1});
  b.start();
  for (int i = 0; i < 1'000 && b.closed().empty(); ++i) b.say(0, message);
  CHECK(b.closed() == std::vector{0});
  b.ended(1, {}, true);
  b.finished(1);
  const RunOutcome& outcome = b.outcome();
  CHECK(outcome.cause->host == 0);
  CHECK(outcome.others.size() <= 1);
  CHECK(outcome.leftovers.front().why ==
        "floods: more than 100 messages in 2 s that say nothing new");
}

TEST_CASE("a host may say the same again and again, if it takes its time") {
  RunBench b({1, 1});
  b.start();
  for (int i = 0; i < 1'000; ++i) {
    b.say(0, message::Blocked{"x", 1s});
    b.wait(100ms);
    b.tick();
    for (int host = 0; host < b.hosts(); ++host) b.pong(host);
  }
  CHECK_FALSE(b.run.over());
  CHECK(b.run.host_state(0) == HostState::running);
}

TEST_CASE("a rank that could not be started is of the class that its agent says") {
  RunBench b({1});
  b.open(0);
  b.ready(0);
  const auto error_class = GENERATE(ErrorClass::missing, ErrorClass::host, ErrorClass::config);
  b.say(0, message::RankNotStarted{0, "too many open files", error_class});
  b.finished(0);
  CHECK(b.outcome().cause->error.error_class == error_class);
}

TEST_CASE("troubles out of turn cut a host off") {
  const auto message = GENERATE(as<Message>{}, message::Blocked{"x", 1s},
                                message::PortTaken{1'000, 1}, message::StopsRanks{});
  RunBench b({1, 1});
  b.open(0);
  b.open(1);
  b.ready(0);
  b.say(0, message);
  CHECK(b.closed() == std::vector{0});
}

TEST_CASE("a host that tells what others' ranks use, or too often of its own, is cut off") {
  const auto is_cut_off = [](int times, int rank) {
    RunBench b({1, 1});
    b.start();
    bool is_cut = false;
    for (int i = 0; i < times && !is_cut; ++i) {
      b.say(0, message::Usage{{{rank, {}}}});
      is_cut = b.closed() == std::vector{0};
    }
    return is_cut;
  };
  CHECK_FALSE(is_cut_off(Repetitions::most, 0));
  CHECK(is_cut_off(Repetitions::most + 1, 0));
  CHECK(is_cut_off(1, 1));
  CHECK(is_cut_off(1, 2));
  RunBench b({1});
  b.open(0);
  b.say(0, message::Usage{});
  CHECK(b.closed() == std::vector{0});
}
