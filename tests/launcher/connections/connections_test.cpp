// SPDX-License-Identifier: Apache-2.0
// Hosts that were lost, and are wanted again.
#include "launcher/connections/connections.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct LostHost {
  LostHost() {
    on(connection_event::HostOpened{0, "10.0.0.1"});
    connections.begin_ranks(0, now);
    on(connection_event::HostSaid{0, message::Hello{wire_version, "h", "boot", 1, {}}});
    on(connection_event::HostBrokeProtocol{0, gone});
  }
  void on(const ConnectionEvent& event) { last = connections.on(event, now); }
  void recover() { last = connections.recover(0, now); }
  template <class Action>
  bool has() const {
    return std::any_of(last.begin(), last.end(), [](const ConnectionAction& action) {
      return std::holds_alternative<Action>(action);
    });
  }
  template <class News>
  std::optional<News> told() const {
    for (const ConnectionAction& action : last)
      if (const auto* news = std::get_if<HostNews>(&action))
        if (const auto* found = std::get_if<News>(news)) return *found;
    return std::nullopt;
  }
  void tick() {
    now = *connections.next_deadline();
    on(connection_event::Tick{});
  }

  const Error gone = make_error(ErrorClass::host, "connection refused");
  Connections connections{{"h0"}, Connections::Timing()};
  Instant now = 1'000s;
  std::vector<ConnectionAction> last;
};

}  // namespace

TEST_CASE("a host that was lost is swept before an agent is started there again") {
  LostHost b;
  CHECK_FALSE(b.connections.is_expected(0));
  b.recover();
  CHECK(b.has<host_action::Sweep>());
  CHECK_FALSE(b.has<host_action::Open>());
  b.on(connection_event::HostSwept{0});
  CHECK(b.has<host_action::Open>());
  b.on(connection_event::HostOpened{0, "10.0.0.2"});
  CHECK(b.told<host_news::Up>());
  CHECK(b.connections.is_up(0));
  CHECK(b.connections.address(0) == "10.0.0.2");
}

TEST_CASE("a host where something may be left is swept again, with a pause") {
  LostHost b;
  b.recover();
  const Instant begin = b.now;
  b.on(connection_event::HostSwept{0, make_error(ErrorClass::host, "an agent is still there")});
  CHECK_FALSE(b.has<host_action::Open>());
  b.tick();
  CHECK(b.now == begin + 1s);
  CHECK(b.has<host_action::Sweep>());
}

TEST_CASE("a host that cannot be reached anew is lost in the end") {
  LostHost b;
  b.recover();
  const Instant begin = b.now;
  int tries = 1;
  while (!b.told<host_news::Lost>()) {
    b.on(connection_event::HostSwept{0});
    b.on(connection_event::HostClosed{0, b.gone});
    b.tick();
    tries += b.has<host_action::Sweep>();
  }
  CHECK(b.now == begin + 10s);
  CHECK(tries >= 9);
  CHECK(tries <= 11);
  CHECK(b.told<host_news::Lost>()->why.diagnostics.front().message ==
        "could not be reached again for 10 s: connection refused");
  CHECK_FALSE(b.connections.is_expected(0));
  b.on(connection_event::HostSwept{0});
  CHECK(b.last.empty());
}

TEST_CASE("an answer that never comes does not keep a host wanted for ever") {
  LostHost b;
  b.recover();
  const Instant begin = b.now;
  while (!b.told<host_news::Lost>()) b.tick();
  CHECK(b.now == begin + 10s);
}

TEST_CASE("what is known of the clock and the pings of a host goes with its agent") {
  LostHost b;
  b.recover();
  b.on(connection_event::HostSwept{0});
  b.now += 5s;
  b.on(connection_event::HostOpened{0, "10.0.0.1"});
  CHECK_FALSE(b.connections.clock(0).align(1s));
  // Its new agent has no ranks yet: a stream that ends is a lost host.
  b.on(connection_event::HostClosed{0, b.gone});
  CHECK(b.told<host_news::Lost>());
}

namespace {

// The host is out of reach for so long, with ranks that may go on for ever.
std::optional<host_news::Lost> lost_after(nanoseconds time, bool waits_for_proof) {
  Connections::Timing timing;
  timing.reconnect_window = 20s;
  timing.launcher_wait = for_ever;
  timing.waits_for_proof = waits_for_proof;
  Connections connections({"h0"}, timing);
  Instant now = 1'000s;
  std::optional<host_news::Lost> lost;
  const auto take = [&](const std::vector<ConnectionAction>& actions) {
    for (const ConnectionAction& action : actions)
      if (const auto* news = std::get_if<HostNews>(&action))
        if (const auto* found = std::get_if<host_news::Lost>(news)) lost = *found;
  };
  take(connections.on(connection_event::HostOpened{0, "10.0.0.1"}, now));
  take(connections.on(
      connection_event::HostSaid{0, message::Hello{wire_version, "h", "boot", 1, {}}}, now));
  connections.begin_ranks(0, now);
  const Error why = make_error(ErrorClass::host, "connection reset");
  take(connections.on(connection_event::HostClosed{0, why}, now));
  const Instant end = now + time;
  while (!lost && connections.next_deadline() && *connections.next_deadline() <= end) {
    now = std::max(now, *connections.next_deadline());
    take(connections.on(connection_event::Tick{}, now));
    if (!lost) take(connections.on(connection_event::HostNotReopened{0, why}, now));
  }
  CHECK(connections.do_agents_wait_for_ever());
  CHECK(connections.waits_for_ever() == waits_for_proof);
  if (lost) CHECK(connections.ranks_end_by(0) == Instant(0));
  return lost;
}

}  // namespace

TEST_CASE("a host is given up after the reconnect window where proof is not waited for") {
  CHECK_FALSE(lost_after(24h, true));
  CHECK_FALSE(lost_after(21s, false));
  const auto lost = lost_after(23s, false);
  REQUIRE(lost);
  CHECK(lost->why.diagnostics.front().message.starts_with(
      "out of reach for 22 s, longer than reconnect_window (20 s): "));
  CHECK(lost->why.diagnostics.front().hint.find("replace: at_once") != std::string::npos);
}
