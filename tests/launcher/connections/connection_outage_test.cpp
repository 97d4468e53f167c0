// SPDX-License-Identifier: Apache-2.0
// Hosts that are out of reach while their ranks run, and come back, or do not.
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
using State = RankOutcome::State;

namespace {

constexpr milliseconds window{60'000};

struct OutageBench : RunBench {
  explicit OutageBench(const std::vector<int>& ranks_per_host, milliseconds with = window,
                       milliseconds launcher_wait = brief_launcher_wait)
      : RunBench(ranks_per_host, milliseconds(10'000), {}, Run::Delivery::nothing, with,
                 Run::Hosts::dismissed, launcher_wait) {
    start_with_hello();
  }

  static message::Hello hello(message::OwnStop stop = message::OwnStop::none, bool started = true) {
    return {wire_version, "h", "boot", 1, {{{}, started, stop}}};
  }
  void start_with_hello() {
    for (int host = 0; host < hosts(); ++host) {
      open(host);
      say(host, hello());
    }
    for (int host = 0; host < hosts(); ++host) ready(host);
    for (const PlannedRank& rank : trial.ranks)
      say(rank.host, message::RankStarted{rank.rank, 100 + rank.rank});
  }
  /// Lets time pass; `alive` hosts answer pings, tries to reach others fail as soon as they begin.
  /// Collects notes and counts the tries.
  void pass(nanoseconds time, const std::vector<int>& alive, bool is_refused = true) {
    const Instant end = now + time;
    while (!run.over() && next_deadline() && *next_deadline() <= end) {
      now = std::max(now, *next_deadline());
      tick();
      collect();
      for (const int host : alive) pong(host);
      for (const auto& again : all<host_action::Reopen>())
        if (is_refused) refuse(again.host);
    }
    now = end;
  }
  void refuse(int host) {
    on(connection_event::HostNotReopened{host,
                                         make_error(ErrorClass::host, "connection timed out")});
    collect();
  }
  void collect() {
    for (const auto& note : all<host_action::Note>()) notes.push_back(note.text);
    tries += static_cast<int>(all<host_action::Reopen>().size());
  }
  void reopen(int host) { on(connection_event::HostReopened{host}); }
  void resume(int host, const message::Hello& with = hello()) {
    reopen(host);
    say(host, with);
    collect();
  }
  std::string lost_why(int host) const {
    for (const Leftover& leftover : run.outcome().leftovers)
      if (leftover.host == host) return leftover.why;
    return {};
  }

  std::vector<std::string> notes;
  int tries = 0;
};

}  // namespace

TEST_CASE("without a window a stream that ends loses its host at once") {
  OutageBench b({1, 1}, 0ms);
  b.lose(1);
  CHECK_FALSE(b.has<host_action::Reopen>());
  CHECK(b.closed() == std::vector{1});
  CHECK(b.told<message::Bye>().empty());
}

TEST_CASE("a host whose ranks outlive any silence is waited for, until it is back or is no more") {
  OutageBench b({1, 1}, GENERATE(0ms, 60'000ms), for_ever);
  b.lose(1);
  b.refuse(1);
  b.pass(48h, {0});
  CHECK_FALSE(b.run.over());
  REQUIRE(b.notes.size() == 1);
  CHECK(b.notes[0] ==
        "host 'h1' is out of reach for 5 s now; its ranks go on, and it is waited for until it is "
        "back (on_launcher_loss: continue, replace: proven): connection timed out");
  SECTION("back") {
    b.resume(1);
    for (int host = 0; host < 2; ++host) {
      b.ended(host, 0);
      b.finished(host);
    }
    CHECK(b.outcome().succeeded);
  }
  SECTION("no more") {
    b.reopen(1);
    b.say(1, message::NoAgent{"boot of later"});
    b.ended(0, 0, true);
    b.finished(0);
    CHECK_FALSE(b.outcome().succeeded);
  }
  SECTION("a failure elsewhere does not give it up") {
    b.ended(0, 7);
    b.finished(0);
    b.pass(1h, {0});
    CHECK_FALSE(b.run.over());
    b.resume(1);
    CHECK(b.told<message::Stop>() == std::vector{1});
  }
  SECTION("whoever stops the task does") {
    b.on(run_event::StopRequested{15});
    b.ended(0, 0, true);
    b.finished(0);
    b.pass(30s, {});
    CHECK(b.run.over());
    CHECK(b.lost_why(1).starts_with("silent for"));
  }
}

TEST_CASE("while all ranks are stopped, a host that is out of reach is waited for no longer") {
  const bool is_awaited = GENERATE(false, true);
  OutageBench b({1, 1}, window, is_awaited ? for_ever : brief_launcher_wait);
  b.lose(1);
  b.refuse(1);
  SECTION("whoever stops them") {
    b.on(run_event::StopRequested{15});
    b.pass(6s, {0});
    REQUIRE(b.notes.size() == 1);
    CHECK(b.notes[0] ==
          "host 'h1' is out of reach for 5 s now; its ranks go on, and it is waited for another "
          "20 s (all ranks are being stopped): connection timed out");
  }
  SECTION("unless an attempt may only begin when it is back") {
    b.ended(0, 7);
    b.pass(6s, {0});
    REQUIRE(b.notes.size() == 1);
    CHECK((b.notes[0].find("until it is back") != std::string::npos) == is_awaited);
    CHECK((b.notes[0].find("all ranks are being stopped") != std::string::npos) == !is_awaited);
  }
}

TEST_CASE("a host whose ranks outlive their launcher for a time is waited for as long") {
  OutageBench b({1, 1}, 60s, 600s);
  b.lose(1);
  b.refuse(1);
  b.pass(599s, {0});
  REQUIRE(b.notes.size() == 1);
  CHECK(b.notes[0].find("waited for another 9 min 57 s (on_launcher_loss)") != std::string::npos);
  CHECK(b.told<message::Stop>().empty());
  b.pass(10s, {0});
  CHECK(b.lost_why(1).find("longer than on_launcher_loss (10 min)") != std::string::npos);
}

TEST_CASE("a stream that ends before the ranks were told to start loses its host") {
  RunBench b({1, 1}, 10s, {}, Run::Delivery::nothing, window);
  b.open(0);
  b.ready(0);
  b.lose(0);
  CHECK(b.closed() == std::vector{0});
  CHECK_FALSE(b.has<host_action::Reopen>());
}

TEST_CASE("a stream that ends while ranks run is made anew at once, and nothing fails") {
  OutageBench b({1, 1});
  b.lose(1);
  CHECK(b.all<host_action::Reopen>().size() == 1);
  CHECK(b.told<message::Stop>().empty());
  b.wait(300ms);
  b.resume(1);
  CHECK(b.told<message::Ping>() == std::vector{1});
  CHECK_FALSE(b.has<run_action::SendGo>());
  CHECK(b.notes.empty());
  for (int host = 0; host < 2; ++host) {
    b.ended(host, 0);
    b.finished(host);
  }
  CHECK(b.outcome().succeeded);
  CHECK(b.outcome().leftovers.empty());
}

TEST_CASE("a host that cannot be reached is told of after five seconds, and when it is back") {
  OutageBench b({1, 1});
  b.lose(1);
  b.refuse(1);
  b.pass(4s, {0});
  CHECK(b.notes.empty());
  b.pass(17s, {0});
  REQUIRE(b.notes.size() == 1);
  CHECK(b.notes[0] ==
        "host 'h1' is out of reach for 5 s now; its ranks go on, and it is waited for another 57 s "
        "(reconnect_window): connection timed out");
  b.resume(1);
  REQUIRE(b.notes.size() == 2);
  CHECK(b.notes[1] == "host 'h1' is back after 21 s; nothing of its output is lost");
}

TEST_CASE("a host that is kept without ranks is told of only when an attempt waits for it") {
  OutageBench b({1, 1}, window, for_ever);
  b.connections.end_ranks(1);
  b.lose(1);
  b.refuse(1);
  b.pass(20s, {0});
  CHECK(b.notes.empty());
  b.connections.want(1, b.now);
  b.pass(1s, {0});
  CHECK(b.notes ==
        std::vector<std::string>{"host 'h1' is out of reach for 20 s now; it is waited for another "
                                 "42 s (reconnect_window): connection timed out"});
  b.resume(1);
  CHECK(b.notes.back() == "host 'h1' is back after 21 s");
}

TEST_CASE("tries to reach a host have pauses between them, about one a second") {
  OutageBench b({1, 1});
  b.lose(1);
  b.collect();
  b.refuse(1);
  b.pass(10s, {0});
  CHECK(b.tries >= 10);
  CHECK(b.tries <= 14);
}

TEST_CASE("what may help is tried at once, but not beside a try that is on its way") {
  OutageBench b({1, 1, 1});
  for (const int host : {1, 2}) {
    b.lose(host);
    b.refuse(host);
  }
  b.pass(3s, {0});
  for (const int host : {1, 2}) CHECK(b.connections.is_away(host));
  b.try_now();
  std::vector<int> tried;
  for (const auto& again : b.all<host_action::Reopen>()) tried.push_back(again.host);
  CHECK(tried == std::vector{1, 2});
  b.refuse(1);
  b.try_now();
  REQUIRE(b.all<host_action::Reopen>().size() == 1);
  CHECK(b.all<host_action::Reopen>()[0].host == 1);
  CHECK(b.next_deadline());
}

TEST_CASE("a host that takes every connection and ends it is not stormed with logins") {
  const bool says_hello = GENERATE(false, true);
  OutageBench b({1, 1});
  b.lose(1);
  b.collect();
  for (const Instant end = b.now + 20s; b.now < end;) {
    if (b.has<host_action::Reopen>()) {
      b.reopen(1);
      if (says_hello) b.say(1, OutageBench::hello());
      b.lose(1);
      b.collect();
      continue;
    }
    b.now = std::max(b.now, *b.next_deadline());
    b.tick();
    b.collect();
    if (!b.has<host_action::Reopen>()) b.pong(0);
  }
  CHECK(b.tries <= 25);
}

TEST_CASE("a stream that stood for long is made anew without a pause") {
  OutageBench b({1});
  b.lose(0);
  b.resume(0);
  b.pass(11s, {0});
  b.lose(0);
  CHECK(b.has<host_action::Reopen>());
}

TEST_CASE("a login that takes too long is given up for another") {
  OutageBench b({1, 1});
  b.lose(1);
  b.collect();
  b.pass(9s, {0}, false);
  CHECK(b.tries == 1);
  b.pass(2s, {0}, false);
  CHECK(b.tries == 2);
}

TEST_CASE("a host is lost when its agent must have stopped its ranks, and not before") {
  const bool is_silent = GENERATE(false, true);
  OutageBench b({1, 1});
  b.wait(2s);
  b.tick();
  b.pong(1);  // this answer the host is told of with the next ping
  b.pong(0);
  const Instant answered = b.now;
  b.wait(2s);
  b.tick();  // which goes out now, and is not answered
  b.pong(0);
  if (!is_silent) {
    b.lose(1);
    b.refuse(1);
  }
  // The agent kills its ranks a window after the answer; clocks may differ by a thousandth.
  b.pass(answered + window + 2s + 59ms - b.now, {0});
  CHECK(b.lost_why(1).empty());
  b.pass(1ms, {0});
  CHECK(b.lost_why(1).starts_with("out of reach for 62 s, longer than reconnect_window (60 s): "));
  CHECK(b.run.outcome().ranks[1].state == State::lost);
}

TEST_CASE("it is known from when on no rank of a host that was let go can run") {
  OutageBench b({1, 1});
  const Instant trusted = b.now;
  CHECK(b.connections.ranks_end_by(1) == Instant(0));
  b.lose(1);
  b.refuse(1);
  b.interrupt();
  b.ended(0, 143, true);
  b.finished(0);
  b.pass(25s, {});
  REQUIRE_FALSE(b.lost_why(1).empty());
  CHECK(b.connections.ranks_end_by(1) == trusted + window + 2s + 60ms);
}

TEST_CASE("a host that says that its agent is gone has no ranks any more") {
  OutageBench b({1, 1});
  b.lose(1);
  b.reopen(1);
  b.say(1, message::NoAgent{"boot"});
  CHECK_FALSE(b.lost_why(1).empty());
  CHECK(b.connections.ranks_end_by(1) <= b.now);
}

TEST_CASE("an answer of which the host was not told yet proves nothing to it") {
  OutageBench b({1, 1});
  const Instant ready = b.now;
  b.wait(2s);
  b.tick();
  const Instant echoed = b.now;  // of the answer to the first ping, which came with Ready
  b.pong(1);
  b.pong(0);
  b.lose(1);
  b.refuse(1);
  b.pass(ready + window + 2s + 60ms - b.now, {0});
  CHECK(echoed > ready);
  CHECK_FALSE(b.lost_why(1).empty());
}

TEST_CASE("a host that is silent is reached beside its stream, which may come back to life") {
  OutageBench b({1, 1});
  b.pass(5s, {0}, false);
  CHECK(b.tries == 1);
  b.on(connection_event::HostPrinted{1});
  REQUIRE(b.all<host_action::KeepStream>().size() == 1);
  CHECK(b.notes.empty());
  b.pass(4s, {0}, false);
  CHECK(b.tries == 1);
  b.pass(1s, {0}, false);
  CHECK(b.tries == 2);
  b.resume(1);  // instead of the old one
  CHECK(b.told<message::Ping>() == std::vector{1});
  b.pass(4s, {0, 1});
  CHECK(b.tries == 2);
}

TEST_CASE("a silent host is told of after fifteen seconds") {
  OutageBench b({1, 1});
  b.pass(14s, {0});
  CHECK(b.notes.empty());
  b.pass(1s, {0});
  REQUIRE(b.notes.size() == 1);
  CHECK(b.notes[0].find("host 'h1' is out of reach for 15 s now") == 0);
}

TEST_CASE("of many hosts that are out of reach a few are named, and these when they are back") {
  OutageBench b(std::vector<int>(6, 1));
  for (int host = 0; host < 6; ++host) {
    b.lose(host);
    b.refuse(host);
    b.pass(10ms, {});
  }
  b.pass(6s, {});
  REQUIRE(b.notes.size() == 3);
  CHECK(b.notes[2].ends_with(" (further hosts are not named)"));
  b.notes.clear();
  for (int host = 5; host >= 0; --host) b.resume(host);
  REQUIRE(b.notes.size() == 3);
  CHECK(b.notes[0].starts_with("host 'h2' is back"));
  CHECK(b.notes[2].starts_with("host 'h0' is back"));
}

TEST_CASE("what a host says again on a new stream changes nothing") {
  OutageBench b({1, 1});
  b.ended(1, 0);
  b.lose(1);
  b.resume(1);
  b.ready(1);
  b.say(1, message::RankStarted{1, 101});
  b.ended(1, 0);
  CHECK(b.closed().empty());
  b.finished(1);
  b.ended(0, 0);
  b.finished(0);
  CHECK(b.outcome().succeeded);
}

TEST_CASE("facts may be said again on a new stream, two for each rank and a few, not for ever") {
  OutageBench b({500, 1});
  b.lose(0);
  b.resume(0);
  for (int rank = 0; rank < 500; ++rank) b.say(0, message::RankStarted{rank, 100 + rank});
  b.pass(2s, {1});  // the next ping
  for (int rank = 0; rank < 500; ++rank) b.say(0, message::RankStarted{rank, 100 + rank});
  CHECK(b.lost_why(0).empty());
  for (int i = 0; i < 200 && b.lost_why(0).empty(); ++i) b.say(0, message::RankStarted{0, 100});
  CHECK(b.lost_why(0).starts_with("floods"));
}

TEST_CASE("a rank that ended while its host was away has ended, well or not") {
  const int code = GENERATE(0, 3);
  OutageBench b({1, 1});
  b.lose(1);
  b.wait(20s);
  b.resume(1);
  b.ended_at(1, code, b.now - 10s);
  b.finished(1);
  if (code == 0) {
    CHECK(b.told<message::Stop>().empty());
    b.ended(0, 0);
  } else {
    b.ended(0, 143, true);
  }
  b.finished(0);
  CHECK(b.outcome().succeeded == (code == 0));
  if (code != 0) CHECK(b.outcome().cause->rank == 1);
}

TEST_CASE("an agent that has not heard that it is to start is told again") {
  OutageBench b({1, 1});
  b.lose(1);
  b.resume(1, OutageBench::hello(message::OwnStop::none, false));
  REQUIRE(b.all<run_action::SendGo>().size() == 1);
  CHECK(b.all<run_action::SendGo>().front().host == 1);
}

TEST_CASE("an agent that has stopped its ranks by itself fails the run, in its words") {
  OutageBench b({1, 1});
  b.lose(1);
  b.wait(58s);
  b.resume(1, OutageBench::hello(message::OwnStop::silence));
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.ended(1, 143, true);
  b.finished(1);
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause() ==
        "host 'h1': its agent stopped its ranks: it had not heard from this launcher for too long");
  // At some instant since it was out of reach.
  CHECK(b.outcome().cause->at == AlignedInstant{b.now - 29s, 29s});
}

TEST_CASE(
    "an agent that says so on the connection that was fails the run as well, at its instant") {
  OutageBench b({1, 1});
  b.wait(58s);
  const Instant at = b.now - 10s;
  b.say(1, message::StopsRanks{message::OwnStop::silence, at});
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.say(1, message::StopsRanks{message::OwnStop::silence, b.now});  // changes nothing any more
  b.ended(1, 143, true);
  b.finished(1);
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause() ==
        "host 'h1': its agent stopped its ranks: it had not heard from this launcher for too long");
  CHECK(b.outcome().others.empty());
  const AlignedInstant& told = b.outcome().cause->at;
  CHECK(std::chrono::abs(told.at - at) <= told.bound);
}

TEST_CASE("ranks that were stopped although nobody asked for it fail the run") {
  OutageBench b({1, 1});
  b.ended(1, 143, true);  // its stream stood all the while, and carried nothing one way
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.finished(1);
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause().find("host 'h1': its agent stopped its ranks") == 0);
}

TEST_CASE("a host without the agent, or with another boot, is lost at once") {
  const auto answer =
      GENERATE(as<Message>{}, message::NoAgent{"boot"}, message::NoAgent{"other"},
               message::Hello{wire_version, "h", "other", 1, {{{}, true, message::OwnStop::none}}});
  OutageBench b({1, 1});
  b.lose(1);
  b.reopen(1);
  b.say(1, answer);
  const bool is_same_boot = answer == Message(message::NoAgent{"boot"});
  CHECK(b.lost_why(1) == (is_same_boot ? "its agent has ended, and its ranks with it"
                                       : "was started anew: nothing of its ranks is left"));
  CHECK(b.told<message::Stop>() == std::vector{0});
}

// Its ranks outlive any silence, and its agent serves nobody any more.
TEST_CASE("a host whose agent cannot end what it has started is lost, with that named") {
  message::LeftBehind left{{{4711, 1'000, "python3 train.py"}}};
  std::string words =
      "process 4711 (python3 train.py), which its agent had started, could not be ended";
  SECTION("one process") {}
  SECTION("several") {
    left.survivors.push_back({4712, 1'000, "python3 train.py"});
    left.more_survivors = 2;
    words += ", nor 3 more";
  }
  SECTION("nobody knows which") {
    left.survivors.clear();
    words = "its agent was told to leave, and what it had started does not end";
  }
  OutageBench b({1, 1}, 60s, for_ever);
  b.lose(1);
  b.reopen(1);
  b.say(1, left);
  CHECK(b.lost_why(1) == words);
  CHECK(b.told<message::Stop>() == std::vector{0});
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause() == "host 'h1': " + words);
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers.front().survivors == left.survivors);
  CHECK(b.outcome().leftovers.front().more_survivors == left.more_survivors);
}

TEST_CASE("whoever says something else before hello on a new stream is cut off") {
  OutageBench b({1, 1});
  b.lose(1);
  b.reopen(1);
  b.ended(1, 0);
  CHECK(b.lost_why(1) == "sent something before 'hello' out of turn");
}

TEST_CASE("what stands for an agent is out of turn on a stream that stands") {
  OutageBench b({1, 1});
  b.say(0, message::NoAgent{"boot"});
  CHECK(b.lost_why(0) == "sent 'no agent' out of turn");
  b.say(1, message::LeftBehind{{{4711, 0, "a lie"}}});
  CHECK(b.lost_why(1) == "sent 'left behind' out of turn");
}

TEST_CASE("what is no protocol of ours is no outage") {
  OutageBench b({1, 1});
  b.on(connection_event::HostBrokeProtocol{1, make_error(ErrorClass::host, "sent garbage")});
  CHECK_FALSE(b.has<host_action::Reopen>());
  CHECK(b.lost_why(1) == "sent garbage");
}

TEST_CASE("a host that is back while ranks are stopped is told to stop, with the last grace") {
  const int requests = GENERATE(1, 2);
  OutageBench b({1, 1});
  b.lose(1);
  for (int i = 0; i < requests; ++i) b.interrupt();
  b.ended(0, 143, true);
  b.finished(0);
  CHECK_FALSE(b.run.over());
  b.resume(1);
  REQUIRE(b.told<message::Stop>() == std::vector{1});
  for (const auto& send : b.all<host_action::Send>())
    if (const auto* stop = std::get_if<message::Stop>(&send.message))
      CHECK(stop->grace == (requests == 1 ? 10s : 0s));
  b.ended(1, 143, true);
  b.finished(1);
  CHECK(b.outcome().stop_signal == 2);
  CHECK(b.outcome().leftovers.empty());
}

TEST_CASE("an interrupt does not wait for the window of a host that is out of reach") {
  OutageBench b({1, 1});
  b.lose(1);
  b.refuse(1);
  b.interrupt();
  b.ended(0, 143, true);
  b.finished(0);
  b.pass(24s, {});
  CHECK_FALSE(b.run.over());
  b.pass(1s, {});
  CHECK(b.run.over());
  CHECK_FALSE(b.lost_why(1).empty());
}

TEST_CASE("the third interrupt does not wait for a host that is out of reach") {
  OutageBench b({1, 1});
  b.pass(6s, {0}, false);
  for (int i = 0; i < 3; ++i) b.interrupt();
  CHECK(b.outcome().leftovers.size() == 2);
  CHECK(b.told<message::Bye>() == std::vector{0, 1});
}

TEST_CASE("a failure elsewhere stops the run while a host is out of reach") {
  OutageBench b({1, 1});
  b.lose(1);
  b.refuse(1);
  b.pass(10s, {0});
  b.ended(0, 3);
  b.finished(0);
  b.pass(26s, {});
  REQUIRE(b.run.over());
  CHECK_FALSE(b.outcome().succeeded);
  CHECK_FALSE(b.lost_why(1).empty());
}

TEST_CASE("a host that comes back after its ranks were done has time to finish") {
  OutageBench b({1, 1}, 600s);
  b.ended(1, 0);
  b.lose(1);
  b.refuse(1);
  b.pass(300s, {0});
  b.resume(1);
  b.pass(10s, {0, 1});
  CHECK(b.lost_why(1).empty());
  b.finished(1);
  b.ended(0, 0);
  b.finished(0);
  CHECK(b.outcome().succeeded);
}

TEST_CASE("a host that is lost when its ranks are known to be done costs no success") {
  OutageBench b({1, 1});
  b.ended(1, 0);
  b.lose(1);
  b.refuse(1);
  b.ended(0, 0);
  b.finished(0);
  b.pass(70s, {});
  CHECK(b.outcome().succeeded);
  CHECK(b.lost_why(1).starts_with("out of reach"));
}

TEST_CASE("a launcher that slept reads first what came meanwhile") {
  OutageBench b({1});
  b.lose(0);
  b.refuse(0);
  b.wait(600s);
  b.tick();
  CHECK_FALSE(b.run.over());
  CHECK(b.has<host_action::Reopen>());
  b.resume(0, OutageBench::hello(message::OwnStop::silence));
  CHECK(b.told<message::Stop>() == std::vector{0});
}

TEST_CASE("checks of hosts that come and go do not add up") {
  OutageBench b({1});
  int ticks = 0;
  for (int i = 0; i < 50; ++i) {
    b.lose(0);
    b.resume(0);
  }
  for (const Instant end = b.now + 60s; b.now < end; ++ticks) {
    b.now = std::max(b.now, *b.next_deadline());
    b.tick();
    b.pong(0);
  }
  CHECK(ticks < 150);
}

TEST_CASE("output of ended ranks is not waited for longer where the host comes and goes") {
  OutageBench b({1});
  b.ended(0, 0);
  const Instant end = b.now;
  while (!b.run.over() && b.now < end + 1h) {
    b.pass(10s, {0});
    b.on(connection_event::HostPrinted{0, 100});
    b.lose(0);
    b.pass(10s, {});
    b.resume(0);
  }
  REQUIRE(b.run.over());
  CHECK(b.now - end >= 20min + window);
  CHECK(b.now - end <= 22min + window);
  CHECK(b.outcome().succeeded);
}
