// SPDX-License-Identifier: Apache-2.0
// Hosts that look for each other before the ranks start.
#include "tests/contains.hpp"
#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

struct NetworkBench : RunBench {
  explicit NetworkBench(const std::vector<int>& ranks_per_host, milliseconds window = 0s)
      : RunBench(ranks_per_host, 10s, {.rendezvous = true}, Run::Delivery::nothing, window,
                 window > 0s ? Run::Hosts::kept_always : Run::Hosts::dismissed, brief_launcher_wait,
                 0s, true) {}

  // Reached by the launcher at 10.0.0.x, and by others at 10.1.0.x as well, which is faster.
  static HostNetworks networks_of(int host) {
    const std::string last = std::to_string(host + 1);
    return {{{"eth0", "10.0.0." + last, "10.0.0.0/24", 10'000},
             {"eth1", "10.1.0." + last, "10.1.0.0/24", 100'000}},
            4'711 + host,
            "token"};
  }
  void ready(int host, HostNetworks networks) {
    std::vector<int> held;
    if (host == 0) held = {29'500};
    say(host, message::Ready{.held_ports = held, .run_directory = "/run", .networks = networks});
  }
  void make_ready() {
    for (int host = 0; host < hosts(); ++host) open(host);
    for (int host = 0; host < hosts(); ++host) {
      ready(host, networks_of(host));
      for (const auto& send : all<host_action::Send>())
        if (const auto* probe = std::get_if<message::Probe>(&send.message))
          probes[send.host] = *probe;
    }
  }
  void answer(int host, ProbeAnswer eth1, ProbeAnswer eth0) {
    message::Probed probed;
    for (const ProbeTarget& target : probes.at(host).targets)
      probed.results.push_back({target.host, {eth1, eth0}});
    say(host, probed);
  }

  std::map<int, message::Probe> probes;
};

}  // namespace

TEST_CASE("ranks start when all hosts have found each other, and are told by which network") {
  NetworkBench b({2, 1, 1});
  b.make_ready();
  REQUIRE(b.probes.size() == 3);
  CHECK(b.probes[1].targets.front() == ProbeTarget{0, {"10.1.0.1", "10.0.0.1"}, 4'711, "token"});
  for (int host = 0; host < 3; ++host) {
    CHECK(b.started().empty());
    b.answer(host, ProbeAnswer::reached, ProbeAnswer::untried);
  }
  CHECK(b.started() == std::vector{0, 1, 2});
  CHECK(b.run.start_message().rendezvous_address == "10.1.0.1");
  CHECK(b.run.start_message().networks == std::vector<message::NetworkChoice>{{0, "eth1"}});
}

TEST_CASE("each host has the interface at which it was reached") {
  NetworkBench b({2, 1, 1});
  b.make_ready();
  for (const int host : {0, 2}) b.answer(host, ProbeAnswer::reached, ProbeAnswer::reached);
  message::Probed probed;  // the second host reaches the first one by the slow network alone
  for (const ProbeTarget& target : b.probes[1].targets)
    probed.results.push_back(
        {target.host,
         {target.host == 0 ? ProbeAnswer::no_answer : ProbeAnswer::reached, ProbeAnswer::reached}});
  b.say(1, probed);
  CHECK(b.started() == std::vector{0, 1, 2});
  CHECK(b.run.start_message().rendezvous_address == "10.0.0.1");
  CHECK(b.run.start_message().networks ==
        std::vector<message::NetworkChoice>{{0, "eth0"}, {2, "eth1"}});
}

TEST_CASE("hosts that do not reach each other start nothing, and the pair is named") {
  NetworkBench b({1, 1});
  b.make_ready();
  b.answer(0, ProbeAnswer::refused, ProbeAnswer::no_answer);
  b.answer(1, ProbeAnswer::reached, ProbeAnswer::untried);
  REQUIRE(b.told<message::Probe>() == std::vector{0});  // once more, and all
  CHECK(b.started().empty());
  b.answer(0, ProbeAnswer::refused, ProbeAnswer::no_answer);
  CHECK(b.started().empty());
  CHECK(b.cause() ==
        "'h0' does not reach 'h1': 10.1.0.2 (eth1) refuses, 10.0.0.2 (eth0) does not answer");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
}

TEST_CASE("hosts without networks meet where the launcher reaches them") {
  NetworkBench b({1, 1});
  b.open(0);
  b.open(1);
  b.ready(0, {});
  b.ready(1, {});
  CHECK(b.started() == std::vector{0, 1});
  CHECK(b.run.start_message().rendezvous_address == "10.0.0.1");
  CHECK(b.run.start_message().networks.empty());
}

TEST_CASE("a host that does not say what it reaches, or what nobody asked, ends the start") {
  NetworkBench silent({1, 1});
  silent.make_ready();
  silent.answer(0, ProbeAnswer::reached, ProbeAnswer::untried);
  const auto deadline = silent.next_deadline();
  REQUIRE(deadline);
  for (int i = 0; i < 20 && !silent.run.over(); ++i) {
    silent.wait(2s);
    silent.tick();
    for (int host = 0; host < 2; ++host) silent.pong(host);
  }
  CHECK(testing::contains(silent.cause(), "does not say which other hosts it reaches"));
  CHECK(silent.outcome().cause->host == 1);

  NetworkBench odd({1, 1});
  odd.make_ready();
  odd.say(0, message::Probed{{{7, {ProbeAnswer::reached}}}});
  odd.answer(1, ProbeAnswer::reached, ProbeAnswer::untried);
  odd.wait(2s);
  odd.tick();
  CHECK(odd.started().empty());
  CHECK(odd.outcome().cause->host == 0);

  NetworkBench early({1, 1});
  early.open(0);
  early.open(1);
  early.ready(0, NetworkBench::networks_of(0));
  early.say(0, message::Probed{});
  early.wait(2s);
  early.tick();
  CHECK(early.outcome().cause->host == 0);
}

TEST_CASE("a host that was out of reach while it was asked is asked again") {
  NetworkBench b({1, 1}, 60s);
  for (int host = 0; host < 2; ++host) {
    b.open(host);
    b.connections.begin_ranks(host, b.now);  // of an earlier attempt
    b.say(host, message::Hello{wire_version, "h", "boot", 1, {}});
  }
  b.ready(0, NetworkBench::networks_of(0));
  b.lose(0);
  b.ready(1, NetworkBench::networks_of(1));
  REQUIRE(b.told<message::Probe>() == std::vector{0, 1});
  const message::Probed answer{{{1, {ProbeAnswer::reached, ProbeAnswer::untried}}}};
  b.say(1, message::Probed{{{0, {ProbeAnswer::reached, ProbeAnswer::untried}}}});
  for (int i = 0; i < 10; ++i) {  // longer than a host may take for its answer
    b.wait(2s);
    b.tick();
    b.pong(1);
  }
  REQUIRE_FALSE(b.run.over());
  b.on(connection_event::HostReopened{0});
  b.say(0, message::Hello{wire_version, "h", "boot", 1, {{{}, false}}});
  CHECK(b.told<message::Probe>() == std::vector{0});
  b.say(0, answer);
  CHECK(b.started() == std::vector{0, 1});
}

TEST_CASE("what a host has found comes too late when another one has failed") {
  NetworkBench b({1, 1});
  b.make_ready();
  b.answer(0, ProbeAnswer::reached, ProbeAnswer::untried);
  b.lose(1);
  CHECK(b.outcome().cause->host == 1);
}
