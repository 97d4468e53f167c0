// SPDX-License-Identifier: Apache-2.0
// How runs end that do not simply succeed or fail: lost and silent hosts, interrupts, hostile
// hosts.
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
using State = RankOutcome::State;

namespace {

// Lets time pass in heartbeats, in which only `alive` hosts answer.
void pass(RunBench& b, nanoseconds time, const std::vector<int>& alive) {
  const Instant end = b.now + time;
  while (!b.run.over() && b.next_deadline() && *b.next_deadline() <= end) {
    b.now = std::max(b.now, *b.next_deadline());
    b.tick();
    for (const int host : alive) b.pong(host);
  }
  b.now = end;
}

}  // namespace

TEST_CASE(
    "a rank that has gone with the process that ranks are started from fails with that said") {
  RunBench b({1, 1});
  b.start();
  message::RankEnded end{0, std::nullopt, 9, false, false, b.now, {}};
  end.parent_end = "is out of memory";
  b.say(0, end);
  b.finished(0);
  b.ended(1, 143, true);
  b.finished(1);
  CHECK(b.cause() ==
        "rank 0 on 'h0' was killed by SIGKILL: the process that ranks are started from is out of "
        "memory");
  CHECK(b.outcome().cause->exit_code == 137);
  CHECK(b.outcome().ranks[0].ended_with_parent);
}

TEST_CASE("hosts are pinged at every heartbeat") {
  RunBench b({1, 1});
  b.start();
  for (int i = 0; i < 3; ++i) {
    CHECK(b.next_deadline() == b.now + 2s);
    b.wait(2s);
    b.tick();
    CHECK(b.told<message::Ping>() == std::vector{0, 1});
    b.pong(0);
    b.pong(1);
  }
}

TEST_CASE("a silent host is lost, and its ranks with it") {
  RunBench b({1, 1});
  b.start();
  pass(b, 14s, {0});
  CHECK_FALSE(b.run.over());
  b.wait(1s);
  b.tick();
  CHECK(b.closed() == std::vector{1});
  CHECK(b.told<message::Stop>() == std::vector{0});
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause().find("host 'h1': silent for 15 s") == 0);
  CHECK(b.outcome().ranks[1].state == State::lost);
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].host == 1);
  CHECK_FALSE(b.outcome().leftovers[0].why.empty());
}

TEST_CASE("a host whose answers are stuck behind its output is not silent") {
  RunBench b({1});
  b.start();
  for (int i = 0; i < 10; ++i) {
    pass(b, 10s, {});
    b.on(connection_event::HostPrinted{0});
  }
  CHECK_FALSE(b.run.over());
}

TEST_CASE("a launcher that slept gives its hosts time to be heard") {
  RunBench b({1});
  b.start();
  b.wait(30s);
  b.tick();
  CHECK(b.told<message::Ping>() == std::vector{0});
  b.pong(0);
  pass(b, 14s, {});
  CHECK_FALSE(b.run.over());
  pass(b, 2s, {});
  CHECK(b.run.over());
}

TEST_CASE("a host that was lost before a rank failed elsewhere is the cause") {
  const bool closed = GENERATE(false, true);
  RunBench b({1, 1});
  b.start();
  pass(b, 10s, {0, 1});
  pass(b, 5s, {0});
  b.ended(0, 1);  // its peer is gone
  b.finished(0);
  if (closed)
    b.lose(1);
  else
    pass(b, 15s, {});
  CHECK(b.cause().find("host 'h1': ") == 0);
  REQUIRE(b.outcome().others.size() == 1);
  CHECK(b.outcome().others[0].rank == 0);
  CHECK(b.outcome().simultaneous == std::vector{0});  // nobody can tell for certain
}

TEST_CASE("a host that was heard after a rank had failed elsewhere is not the cause") {
  RunBench b({1, 1});
  b.start();
  pass(b, 10s, {0, 1});
  b.ended(0, 1);
  b.finished(0);
  pass(b, 3s, {1});
  b.lose(1);
  CHECK(b.outcome().cause->rank == 0);
  CHECK(b.outcome().simultaneous.empty());
}

TEST_CASE("a host that is lost when all its ranks are done costs no success") {
  const bool others_run = GENERATE(false, true);
  RunBench b({1, 1});
  b.start();
  b.ended(1, 0);
  if (!others_run) {
    b.ended(0, 0);
    b.finished(0);
  }
  b.lose(1);
  CHECK(b.told<message::Stop>().empty());
  if (others_run) {
    b.ended(0, 0);
    b.finished(0);
  }
  CHECK(b.outcome().succeeded);
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].why == "connection reset");
}

TEST_CASE("an agent that never finishes is given up, sooner or later") {
  RunBench b({1});
  b.start();
  b.ended(0, 0);
  pass(b, 100s, {0});
  b.on(connection_event::HostPrinted{0});
  pass(b, 119s, {0});
  CHECK_FALSE(b.run.over());
  pass(b, 3s, {0});
  CHECK(b.outcome().succeeded);
  CHECK(b.outcome().leftovers.size() == 1);
}

TEST_CASE("what failed ranks had printed is waited for as long as it comes, but not by a user") {
  RunBench b({1});
  b.start();
  const bool by_user = GENERATE(false, true);
  if (by_user) b.interrupt();
  b.ended(0, 1, by_user);
  for (int i = 0; i < 6 && !b.run.over(); ++i) {
    pass(b, 10s, {0});
    b.on(connection_event::HostPrinted{0});
  }
  CHECK(b.run.over() == by_user);
  if (by_user) return;
  pass(b, 14s, {0});
  CHECK_FALSE(b.run.over());
  pass(b, 2s, {0});
  REQUIRE(b.run.over());
  CHECK(b.outcome().leftovers.size() == 1);
}

TEST_CASE("a host that prints for ever once its ranks have ended is given up") {
  RunBench b({1});
  b.start();
  const bool has_failed = GENERATE(false, true);
  b.ended(0, has_failed ? 1 : 0);
  const Instant end = b.now;
  while (!b.run.over() && b.now < end + 1h) {
    pass(b, 10s, {0});
    b.on(connection_event::HostPrinted{0, 100});
  }
  REQUIRE(b.run.over());
  CHECK(b.now - end >= 20min);
  CHECK(b.now - end <= 21min);
  CHECK(b.outcome().succeeded == !has_failed);
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].why.find("still came after that (1") != std::string::npos);
}

TEST_CASE("a kill for want of memory is the cause, in words of its own, and a core is kept") {
  RunBench b({1});
  b.start();
  const bool is_below = GENERATE(false, true);
  message::RankEnded end{0, std::nullopt, 9, false, false, b.now, {}, {}};
  if (is_below) end = {0, 137, std::nullopt, false, false, b.now, {}, {}};
  end.memory_kill = message::MemoryKill{"the host's memory", "12 (python3)"};
  end.core = "'/core'";
  b.say(0, end);
  b.finished(0);
  const std::string cause = b.outcome().cause->error.diagnostics.front().message;
  CHECK(cause == (is_below ? "rank 0 on 'h0' exited with code 137: the kernel killed a process of "
                             "it for want of memory (OOM: the host's memory)"
                           : "rank 0 on 'h0' was killed by the kernel for want of memory (OOM: the "
                             "host's memory)"));
  CHECK(b.outcome().cause->exit_code == 137);
  CHECK(b.outcome().ranks[0].memory_kill == end.memory_kill);
  CHECK(b.outcome().ranks[0].core == "'/core'");
}

TEST_CASE("a host that does not stop is given up after the grace and the slack") {
  RunBench b({1, 1}, 10s);
  b.start();
  b.ended(0, 1);
  b.finished(0);
  pass(b, 24s, {1});
  CHECK_FALSE(b.run.over());
  pass(b, 1s, {1});
  CHECK(b.outcome().cause->rank == 0);
  CHECK(b.outcome().others.empty());
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].host == 1);
}

TEST_CASE("a rank's failure does not extend the stop of another") {
  RunBench b({1, 1, 1}, 10s);
  b.start();
  b.ended(0, 1);
  b.finished(0);
  pass(b, 5s, {1, 2});
  b.ended(1, 1);
  CHECK(b.told<message::Stop>().empty());
  b.finished(1);
  pass(b, 20s, {2});
  CHECK(b.run.over());
}

TEST_CASE("an interrupt stops the ranks with their grace") {
  RunBench b({1, 1});
  b.start();
  b.interrupt();
  CHECK(b.all<run_action::Stopping>().front().why == "SIGINT: stopping all ranks");
  CHECK(std::get<message::Stop>(b.all<host_action::Send>().front().message).grace == 10s);
  b.ended(0, std::nullopt, true);
  b.finished(0);
  b.ended(1, 1);  // it took the shutdown of its peer for an error
  b.finished(1);
  CHECK(b.outcome().stop_signal == 2);
  CHECK_FALSE(b.outcome().cause);
  CHECK(b.outcome().others.size() == 1);
}

TEST_CASE("the second interrupt kills, the third does not wait") {
  RunBench b({1, 1});
  b.start();
  b.interrupt();
  b.interrupt();
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  CHECK(std::get<message::Stop>(b.all<host_action::Send>().front().message).grace == 0s);
  b.interrupt();
  CHECK(b.outcome().stop_signal == 2);
  CHECK(b.outcome().leftovers.size() == 2);
  CHECK(b.outcome().is_cut_short);
  CHECK(b.outcome().others.empty());
}

namespace {

// With 30 s of notice and 10 s of grace.
RunBench noticed(const std::vector<int>& ranks_per_host) {
  return RunBench(ranks_per_host, 10s, {}, Run::Delivery::nothing, 0ms, Run::Hosts::dismissed,
                  brief_launcher_wait, 30s);
}

message::Stop stop_told(const RunBench& b) {
  REQUIRE_FALSE(b.told<message::Stop>().empty());
  return std::get<message::Stop>(b.all<host_action::Send>().front().message);
}

}  // namespace

TEST_CASE("a second interrupt ends the notice, a third the grace, a fourth all waiting") {
  RunBench b = noticed({1, 1});
  b.start();
  b.interrupt();
  CHECK(b.all<run_action::Stopping>().front().why ==
        "SIGINT: stopping all ranks; the signal follows in 30 s, or at once with another Ctrl-C");
  CHECK(stop_told(b) == message::Stop{10s, 30s});
  CHECK(b.run.gives_up_by() == b.now + 55s);
  b.wait(5s);
  b.interrupt();
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  CHECK(stop_told(b) == message::Stop{10s});
  CHECK(b.run.gives_up_by() == b.now + 25s);
  b.interrupt();
  CHECK(stop_told(b) == message::Stop{});
  CHECK_FALSE(b.run.over());
  b.interrupt();
  CHECK(b.outcome().stop_signal == 2);
}

TEST_CASE("once the notice has passed a second interrupt kills") {
  RunBench b = noticed({1});
  b.start();
  b.interrupt();
  b.wait(30s);
  b.interrupt();
  CHECK(stop_told(b) == message::Stop{});
}

TEST_CASE("the other ranks have notice of a failure, and a first interrupt leaves it to them") {
  RunBench b = noticed({1, 1});
  b.start();
  b.ended(0, 1);
  b.finished(0);
  CHECK(b.run.gives_up_by() == b.now + 55s);
  b.interrupt();
  CHECK(b.told<message::Stop>().empty());
  b.interrupt();
  CHECK(b.told<message::Stop>() == std::vector{1});
  CHECK(stop_told(b) == message::Stop{10s});
}

TEST_CASE("a task whose time is over is stopped like by its user, and told apart") {
  RunBench b({1});
  b.start();
  b.on(run_event::StopRequested{runtime_over});
  CHECK(b.all<run_action::Stopping>().front().why == "max_runtime is over: stopping all ranks");
  CHECK(stop_told(b).grace == 10s);
  b.ended(0, std::nullopt, true);
  b.finished(0);
  CHECK(b.outcome().stop_signal == runtime_over);
  CHECK(stop_text(runtime_over) == "max_runtime is over");
}

TEST_CASE("a host without a stop file is named once, and stopped like the others") {
  RunBench b({1});
  b.start();
  b.interrupt();
  b.say(0, message::NoStopFile{"no room"});
  REQUIRE(b.all<host_action::Note>().size() == 1);
  CHECK(b.all<host_action::Note>().front().text ==
        "host 'h0': the stop file of its ranks is missing, and they are stopped without: no room");
  b.say(0, message::NoStopFile{"no room"});
  CHECK(b.all<host_action::Note>().empty());
  b.ended(0, std::nullopt, true);
  b.finished(0);
  CHECK(b.outcome().stop_signal == 2);
}

TEST_CASE("the signals that an experiment may name have their numbers of Linux") {
  CHECK(signal_number("TERM") == 15);
  CHECK(signal_number("USR1") == 10);
  CHECK(signal_number("HUP") == 1);
  CHECK_FALSE(signal_number("SIGTERM"));
  CHECK_FALSE(signal_number(""));
}

TEST_CASE("an impatient user does not change the cause") {
  RunBench b({1, 1});
  b.start();
  b.wait(1s);  // h1 was last heard before the failure, like any host between two heartbeats
  b.ended(0, 5);
  for (int i = 0; i < 3; ++i) b.interrupt();
  CHECK(b.outcome().cause->rank == 0);
  CHECK_FALSE(b.outcome().stop_signal);
  CHECK(b.outcome().leftovers.size() == 2);
}

TEST_CASE("a failure that certainly came before the interrupt is the cause, however late told") {
  const bool before = GENERATE(false, true);
  RunBench b({1});
  b.start();
  b.wait(10s);
  const Instant failed = before ? b.now - 1s : b.now + 1s;
  b.interrupt();
  b.wait(2s);
  b.ended_at(0, 7, failed);
  b.finished(0);
  CHECK(b.outcome().cause.has_value() == before);
  CHECK(b.outcome().stop_signal.has_value() == !before);
  CHECK(b.outcome().others.size() == (before ? 0 : 1));
}

TEST_CASE("an interrupt that comes when every rank is done changes nothing") {
  RunBench b({1, 1});
  b.start();
  b.ended(0, 0);
  b.finished(0);
  b.interrupt();
  b.ended(1, 0);
  b.finished(1);
  CHECK(b.outcome().succeeded);
  CHECK_FALSE(b.outcome().stop_signal);
}

TEST_CASE("an interrupt while connecting ends at once and starts nothing") {
  RunBench b({1, 1, 1});
  b.open(0);
  b.ready(0);
  b.open(1);
  b.interrupt();
  CHECK(b.told<message::Bye>() == std::vector{0, 1});
  CHECK(b.closed() == std::vector{0, 1, 2});
  CHECK(b.outcome().stop_signal == 2);
  CHECK(b.outcome().leftovers.empty());
  b.open(2);  // too late
  CHECK(b.last.empty());
}

TEST_CASE("an interrupt that meets a failed start leaves the failure as the cause") {
  RunBench b({1, 1});
  b.lose(0);
  b.interrupt();
  CHECK(b.cause() == "host 'h0': connection reset");
}

TEST_CASE("a host that breaks the protocol before the start is cut off and named") {
  const auto message =
      GENERATE(as<Message>{}, message::RankStarted{0, 1}, message::Finished{},
               message::RankEnded{0, 0, {}, false, false, 1s, {}}, message::RankNotStarted{0, "x"},
               message::Go{"a", 1}, message::Prepare{}, message::Bye{}, message::Stop{},
               message::Hello{99, "h", "b", 1});
  RunBench b({1, 1});
  b.open(0);
  b.open(1);
  b.say(0, message);
  CHECK(b.closed() == std::vector{0});
  b.ready(1);
  CHECK(b.started().empty());
  CHECK(b.cause().find("host 'h0': ") == 0);
}

TEST_CASE("a host that breaks the protocol while ranks run is cut off and named") {
  const auto message = GENERATE(
      as<Message>{}, message::RankStarted{0, 1}, message::RankStarted{1, 1},
      message::RankStarted{-1, 1}, message::RankStarted{2, 1}, message::RankNotStarted{1, "x"},
      message::RankNotStarted{0, "x"}, message::RankEnded{1, 1, {}, false, false, 1s, {}},
      message::Finished{}, message::Ready{{1}, "x"}, message::Refused{{{{}, {}, "x", ""}}},
      message::Go{"a", 1}, message::Acknowledge{1}, message::Ping{1s});
  RunBench b({1, 1});
  b.start();
  b.say(0, message);
  CHECK(b.closed() == std::vector{0});
  CHECK(b.told<message::Stop>() == std::vector{1});
  b.say(0, message);
  CHECK(b.last.empty());
  b.ended(1, 143, true);
  b.finished(1);
  CHECK(b.cause().find("host 'h0': ") == 0);
  CHECK(b.outcome().others.empty());
}

TEST_CASE("a rank ends only once") {
  RunBench b({2});
  b.start();
  b.ended(0, 0);
  b.ended(0, 0);
  CHECK(b.cause() == "host 'h0': sent 'ended' out of turn");
}
