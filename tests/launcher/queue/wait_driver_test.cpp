// SPDX-License-Identifier: Apache-2.0
#include "launcher/queue/wait_driver.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/run/scripted_transport.hpp"

using namespace train;
using namespace train::simulation;
using namespace std::chrono_literals;

namespace {

std::string report_of(std::int64_t arrived, const std::vector<std::string>& before = {}) {
  WaitReport report;
  report.arrived_ns = arrived;
  for (const std::string& task : before) {
    Ticket ticket;
    ticket.order = {1, 1, task};
    ticket.is_final = true;
    report.tickets.push_back(ticket);
  }
  report.host.cpus = 4;
  report.host.holders.push_back({.task = "m"});  // its own, that it has not let go yet
  return encode_wait_report(report);
}

struct World {
  explicit World(int count) {
    std::vector<Host> hosts;
    for (int i = 0; i < count; ++i) {
      Host host;
      host.name = host.address = "n" + std::to_string(i);
      hosts.push_back(host);
    }
    WaitDriver::Hooks hooks;
    hooks.on_turn = [this] {
      ++turns;
      return fits ? Turn::fits : Turn::held;
    };
    hooks.on_place = [this] { places.push_back(driver->place().number); };
    hooks.on_lost = [this](int host, const Error&) { lost.push_back(host); };
    hooks.on_clocks = [](const auto&) { FAIL("all have one clock"); };
    hooks.on_passed = [](const auto&) { FAIL("nobody leaves alone what is free"); };
    hooks.count_idle_slots = [](int, const HostReport&) { return 0; };
    hooks.on_over = [this](const Error& why) { over = why.error_class; };
    driver = std::make_unique<WaitDriver>(WaitDriver::Ports{timers, transport}, hosts, "m",
                                          Ticket(), std::nullopt, std::move(hooks));
  }
  void play(nanoseconds length) {
    const Instant end = time.now() + length;
    bool is_over = false;
    time.at(end, [&] { is_over = true; });
    while (!is_over && time.step()) {
    }
  }

  VirtualTime time;
  FakeTimers timers{time};
  ScriptedTransport transport{time};
  std::unique_ptr<WaitDriver> driver;
  bool fits = false;
  int turns = 0;
  std::vector<int> places;
  std::vector<int> lost;
  std::optional<ErrorClass> over;
};

}  // namespace

TEST_CASE("a task waits with a ticket on each of its hosts, and plans when it is its turn") {
  World world(2);
  world.transport.scripts["n0"] = {1ms, report_of(500)};
  world.transport.scripts["n1"] = {2ms, report_of(700)};
  world.driver->start(0);
  world.play(1s);
  CHECK(world.transport.asked == std::vector<std::string>{"n0 wait m-0", "n1 wait m-1"});
  CHECK(world.turns == 1);
  CHECK(world.places == std::vector<int>{1});
  REQUIRE(world.driver->order());
  CHECK(*world.driver->order() == TicketOrder{700, 700, "m"});
  const auto reports = world.driver->reports();
  REQUIRE(reports[0]);
  CHECK(reports[0]->cpus == 4);
  CHECK(reports[0]->holders.empty());
  // Twice to each host: at first, and when its order was final.
  CHECK(std::count(world.transport.sent.begin(), world.transport.sent.end(), '\n') == 4);
  CHECK(world.transport.sent.find(R"("final":true)") != std::string::npos);
}

TEST_CASE("who is before it is told of") {
  World world(1);
  world.transport.scripts["n0"] = {
      1ms, report_of(500, {"aaaa2345", "bbbb2345"}) + "\n" + report_of(500, {"bbbb2345"})};
  world.driver->start(0);
  world.play(1s);
  CHECK(world.places == std::vector<int>{3, 2});
  CHECK(world.driver->place().before->order.task == "bbbb2345");
  CHECK(world.turns == 0);
}

TEST_CASE("it plans with the hosts where nobody is before it") {
  World world(2);
  world.transport.scripts["n0"] = {1ms, report_of(500, {"aaaa2345"})};
  world.transport.scripts["n1"] = {2ms, report_of(700)};
  world.driver->start(0);
  world.play(1s);
  CHECK(world.turns == 1);
  CHECK_FALSE(world.driver->is_turn_on(0));
  CHECK(world.driver->is_turn_on(1));
}

TEST_CASE("a launcher says that it lives, to hosts that it reaches") {
  World world(1);
  world.transport.scripts["n0"] = {1ms, report_of(500)};
  world.driver->start(0);
  world.play(1s);
  world.transport.sent.clear();
  world.play(wait_sign_of_life);
  CHECK(world.transport.sent == "\n");
}

TEST_CASE("a host that is lost, or speaks no language of ours, is reached again") {
  for (const Script& said : {Script{1ms, "", "no route"}, Script{1ms, "banner\n"}}) {
    World world(2);
    world.transport.scripts["n0"] = said;
    world.transport.scripts["n1"] = {1ms, report_of(700)};
    world.transport.further["n0"] = {{1ms, report_of(500)}};
    world.driver->start(0);
    world.play(500ms);
    CHECK(world.lost == std::vector<int>{0});
    CHECK(world.driver->order() == TicketOrder{700, 700, "m"});
    CHECK_FALSE(world.driver->reports()[0]);
    world.play(1s);
    CHECK(world.driver->reports()[0]);
    CHECK(world.turns == 2);
  }
}

TEST_CASE("where no host is reached the waiting is over") {
  World world(1);
  world.transport.scripts["n0"] = {1ms, "", "no route"};
  world.driver->start(0);
  world.play(1s);
  CHECK(world.over == ErrorClass::host);
}

TEST_CASE("what was taken meanwhile is planned once more") {
  World world(1);
  world.transport.scripts["n0"] = {1ms, report_of(500)};
  world.fits = true;
  world.driver->start(0);
  world.play(1s);
  CHECK(world.turns == 1);
  world.driver->refused();
  world.play(1s);
  CHECK(world.turns == 2);
}
