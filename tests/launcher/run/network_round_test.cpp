// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/network_round.hpp"

#include <fmt/format.h>

#include <functional>
#include <random>

#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

using OfHost = NetworkRound::OfHost;

NetworkAddress address(const std::string& interface, const std::string& network, int last,
                       int speed = 10'000) {
  return {interface, fmt::format("{}.{}", network, last), network + ".0/24", speed};
}

OfHost host(int index, std::vector<NetworkAddress> addresses) {
  const std::string first = addresses.empty() ? "" : addresses.front().address;
  return {fmt::format("node{:02}", index),
          {std::move(addresses), 4'711, fmt::format("t{}", index)},
          first};
}

// What one host finds at an address of another.
using World = std::function<ProbeAnswer(int from, const std::string& address)>;

// Asks until nobody is asked any more; how often somebody was.
int look(NetworkRound& round, const World& world) {
  int questions = 0;
  for (auto actions = round.take_actions(); !actions.empty(); actions = round.take_actions())
    for (const NetworkRound::Action& action : actions) {
      ++questions;
      std::vector<ProbeResult> results;
      for (const ProbeTarget& target : action.probe.targets) {
        ProbeResult& result = results.emplace_back(ProbeResult{target.host, {}});
        bool is_done = false;  // whoever is in a hurry takes the first that is reached
        for (const std::string& each : target.addresses) {
          const bool is_left_out = is_done && !action.probe.is_thorough;
          result.addresses.push_back(is_left_out ? ProbeAnswer::untried : world(action.host, each));
          is_done = is_done || result.addresses.back() == ProbeAnswer::reached;
        }
      }
      REQUIRE(round.is_expected(action.host));
      REQUIRE(round.answered(action.host, results, 1s));
    }
  return questions;
}

ProbeAnswer everywhere(int, const std::string&) { return ProbeAnswer::reached; }

std::string chosen(const NetworkRound& round, int host) {
  const NetworkAddress* const found = round.chosen(host);
  return found == nullptr ? "" : found->interface;
}

}  // namespace

TEST_CASE("hosts of one network look for the first one and their neighbours, and use it") {
  std::vector<OfHost> hosts;
  for (int i = 0; i < 6; ++i) hosts.push_back(host(i, {address("eth0", "10.0.0", i + 1)}));
  NetworkRound round;
  CHECK_FALSE(round.is_settled());
  round.begin(hosts, 0s);
  auto actions = round.take_actions();
  REQUIRE(actions.size() == 6);
  const auto targets = [&](int of) {
    std::vector<int> all;
    for (const auto& target : actions[static_cast<std::size_t>(of)].probe.targets)
      all.push_back(target.host);
    return all;
  };
  CHECK(targets(0) == std::vector{1, 5});
  CHECK(targets(1) == std::vector{0, 2});
  CHECK(targets(3) == std::vector{0, 4, 2});
  const ProbeTarget first = actions[3].probe.targets.front();
  CHECK(first == ProbeTarget{0, {"10.0.0.1"}, 4'711, "t0"});
  for (const auto& action : actions) {
    std::vector<ProbeResult> results;
    for (const auto& target : action.probe.targets)
      results.push_back({target.host, {ProbeAnswer::reached}});
    CHECK_FALSE(round.is_settled());
    CHECK(round.answered(action.host, results, 1s));
    CHECK_FALSE(round.is_expected(action.host));
  }
  CHECK(round.is_settled());
  CHECK_FALSE(round.obstacle());
  CHECK_FALSE(round.next_deadline());
  for (int i = 0; i < 6; ++i) CHECK(chosen(round, i) == "eth0");
}

TEST_CASE("the better network is looked for first") {
  NetworkAddress slow = address("a-slow", "10.0.0", 1, 1'000);
  NetworkAddress fast = address("b-fast", "10.0.1", 1, 100'000);
  NetworkAddress rdma = address("c-rdma", "10.0.2", 1, 100'000);
  rdma.has_rdma = true;
  NetworkAddress bridge = address("d-bridge", "10.0.3", 1, 400'000);
  bridge.is_virtual = true;
  NetworkRound round;
  round.begin({host(0, {slow, bridge, fast, rdma}), host(1, {address("eth0", "10.0.0", 2)})}, 0s);
  const auto actions = round.take_actions();
  REQUIRE(actions.size() == 2);
  CHECK(actions[1].probe.targets[0].addresses ==
        std::vector<std::string>{rdma.address, fast.address, slow.address, bridge.address});
}

TEST_CASE("of networks that are alike the one is taken that more hosts have, then the launcher's") {
  const auto of = [](int i, const std::string& own) {
    return host(
        i, {address("a", own, 1), address("b", "10.9.0", i + 1), address("c", "10.9.9", i + 1)});
  };
  std::vector<OfHost> hosts{of(0, "10.0.0"), of(1, "10.0.1"), of(2, "10.0.2")};
  hosts[1].reached_at = "10.9.9.2";
  NetworkRound round;
  round.begin(hosts, 0s);
  look(round, everywhere);
  CHECK(chosen(round, 0) == "b");
  CHECK(chosen(round, 1) == "c");
}

TEST_CASE("an address that two hosts have is none") {
  NetworkAddress docker{"docker0", "172.17.0.1", "172.17.0.0/16", 0, true};
  NetworkRound round;
  round.begin({host(0, {docker, address("eth0", "10.0.0", 1)}),
               host(1, {docker, address("ens3", "10.0.0", 2)})},
              0s);
  const int questions = look(round, [&](int, const std::string& at) {
    CHECK(at != docker.address);
    return ProbeAnswer::reached;
  });
  CHECK(questions == 2);
  CHECK(chosen(round, 0) == "eth0");
  CHECK(chosen(round, 1) == "ens3");
}

TEST_CASE("an address that a host has twice is one, and no other host's") {
  NetworkAddress tunnel = address("tun0", "10.0.0", 1, 0);
  tunnel.is_virtual = true;
  NetworkRound round;
  round.begin(
      {host(0, {address("eth0", "10.0.0", 1), tunnel}), host(1, {address("eth0", "10.0.0", 2)})},
      0s);
  const auto actions = round.take_actions();
  REQUIRE(actions.size() == 2);
  CHECK(actions[1].probe.targets[0].addresses == std::vector<std::string>{"10.0.0.1"});
}

TEST_CASE("behind a NAT hosts meet where the launcher reaches them, by no interface") {
  OfHost one = host(0, {address("eth0", "192.168.1", 5)});
  OfHost other = host(1, {address("eth0", "192.168.2", 5)});
  one.reached_at = "203.0.113.1";
  other.reached_at = "203.0.113.2";
  NetworkRound round;
  round.begin({one, other}, 0s);
  look(round, [](int, const std::string& at) {
    return at.starts_with("203.") ? ProbeAnswer::reached : ProbeAnswer::no_answer;
  });
  CHECK_FALSE(round.obstacle());
  REQUIRE(round.chosen(0) != nullptr);
  CHECK(round.chosen(0)->address == "203.0.113.1");
  CHECK(round.chosen(0)->interface.empty());
  // Two that are reached by one name or address are told apart by their own alone.
  other.reached_at = one.reached_at;
  NetworkRound same;
  same.begin({one, other}, 0s);
  for (const auto& action : same.take_actions())
    CHECK(action.probe.targets[0].addresses.size() == 1);
}

TEST_CASE("NCCL is told one interface only where no other device is as good") {
  const auto is_best = [](std::vector<NetworkAddress> addresses) {
    NetworkRound round;
    round.begin({host(0, std::move(addresses)), host(1, {address("eth0", "10.0.0", 2)})}, 0s);
    look(round, everywhere);
    return round.is_best(0);
  };
  NetworkAddress bridge = address("br0", "10.0.2", 1);
  bridge.is_virtual = true;
  CHECK(is_best({address("eth0", "10.0.0", 1), bridge}));
  CHECK(is_best({address("eth0", "10.0.0", 1), address("eth1", "10.0.1", 1, 1'000)}));
  CHECK_FALSE(is_best({address("eth0", "10.0.0", 1), address("eth1", "10.0.1", 1)}));
}

TEST_CASE("what only some reach is not chosen, and all are asked once more for the rest") {
  const auto of = [](int i) {
    return host(i, {address("fast", "10.1.0", i + 1, 100'000), address("slow", "10.0.0", i + 1)});
  };
  NetworkRound round;
  round.begin({of(0), of(1), of(2), of(3)}, 0s);
  // The last host has the fast network, and its cable is out.
  const auto world = [](int from, const std::string& at) {
    const bool is_broken = at.starts_with("10.1.0") && (from == 3 || at == "10.1.0.4");
    return is_broken ? ProbeAnswer::no_answer : ProbeAnswer::reached;
  };
  CHECK(look(round, world) > 4);
  CHECK(round.is_settled());
  CHECK_FALSE(round.obstacle());
  for (int i = 0; i < 4; ++i) CHECK(chosen(round, i) == (i == 1 ? "fast" : "slow"));
}

TEST_CASE("hosts that do not reach each other are named in pairs, with what was tried") {
  NetworkRound round;
  round.begin({host(0, {address("eth0", "10.0.0", 1)}),
               host(1, {address("eth0", "10.0.0", 2), address("eth1", "10.0.1", 2)})},
              0s);
  look(round, [](int from, const std::string& at) {  // a firewall that is open one way
    if (from == 1) return ProbeAnswer::reached;
    return at == "10.0.0.2" ? ProbeAnswer::no_answer : ProbeAnswer::unreachable;
  });
  REQUIRE(round.is_settled());
  CHECK(chosen(round, 0) == "eth0");
  CHECK(round.chosen(1) == nullptr);
  const auto obstacle = round.obstacle();
  REQUIRE(obstacle);
  CHECK(obstacle->error_class == ErrorClass::host);
  REQUIRE(obstacle->diagnostics.size() == 1);
  CHECK(obstacle->diagnostics[0].message ==
        "'node00' does not reach 'node01': 10.0.0.2 (eth0) does not answer, 10.0.1.2 (eth1) has "
        "no way there");
  CHECK(testing::contains(obstacle->diagnostics[0].hint, "network: none"));
}

TEST_CASE("however many pairs do not reach each other, a screen holds what is said") {
  std::vector<OfHost> hosts;
  for (int i = 0; i < 100; ++i) hosts.push_back(host(i, {address("eth0", "10.0.0", i + 1)}));
  NetworkRound round;
  round.begin(hosts, 0s);
  look(round, [](int, const std::string&) { return ProbeAnswer::stalled; });
  const auto obstacle = round.obstacle();
  REQUIRE(obstacle);
  REQUIRE(obstacle->diagnostics.size() == 5);
  CHECK(testing::contains(obstacle->diagnostics[4].message, "more pairs of hosts"));
}

TEST_CASE(
    "of a host that has no address or answers nobody nothing is chosen, and nothing is said") {
  OfHost silent = host(2, {address("eth0", "10.0.0", 3)});
  silent.networks.probe_port = 0;
  NetworkRound round;
  round.begin({host(0, {address("eth0", "10.0.0", 1)}), host(1, {}), silent}, 0s);
  look(round, everywhere);
  CHECK(round.is_settled());
  CHECK_FALSE(round.obstacle());
  CHECK(chosen(round, 0) == "eth0");
  CHECK(round.chosen(1) == nullptr);
  CHECK(round.chosen(2) == nullptr);
  NetworkRound nobody;
  nobody.begin({host(0, {}), host(1, {})}, 0s);
  CHECK(nobody.take_actions().empty());
  CHECK(nobody.is_settled());
}

TEST_CASE("an answer to something else is none, and who does not answer is named once") {
  NetworkRound round;
  round.begin({host(0, {address("eth0", "10.0.0", 1)}), host(1, {address("eth0", "10.0.0", 2)})},
              0s);
  CHECK(round.take_actions().size() == 2);
  CHECK_FALSE(round.answered(0, {}, 1s));
  CHECK_FALSE(round.answered(0, {{0, {ProbeAnswer::reached}}}, 1s));
  CHECK_FALSE(round.answered(0, {{1, {ProbeAnswer::reached, ProbeAnswer::reached}}}, 1s));
  CHECK(round.answered(0, {{1, {ProbeAnswer::reached}}}, 1s));
  const auto deadline = round.next_deadline();
  REQUIRE(deadline);
  CHECK(round.silent(*deadline - 1ns).empty());
  CHECK(round.silent(*deadline) == std::vector{1});
  round.wait_longer(1, *deadline);
  CHECK(round.silent(*deadline).empty());
  CHECK(*round.next_deadline() > *deadline);
  round.ask_again(1, *deadline);
  REQUIRE(round.take_actions().size() == 1);
  round.give_up(1);
  CHECK_FALSE(round.next_deadline());
}

TEST_CASE("whatever hosts reach of each other, what is chosen was reached by all that looked") {
  std::mt19937 random(20'261'128);
  for (int round_number = 0; round_number < 300; ++round_number) {
    const int count = 2 + static_cast<int>(random() % 7);
    const int networks = 1 + static_cast<int>(random() % 4);
    std::vector<OfHost> hosts;
    for (int i = 0; i < count; ++i) {
      std::vector<NetworkAddress> addresses;
      for (int n = 0; n < networks; ++n)
        if (random() % 4 != 0)
          addresses.push_back(address(fmt::format("eth{}", n), fmt::format("10.0.{}", n), i + 1,
                                      n == 0 ? 0 : static_cast<int>(random() % 3) * 1'000));
      hosts.push_back(host(i, addresses));
    }
    const auto seed = random();
    const World world = [seed](int from, const std::string& at) {
      const auto hash = std::hash<std::string>()(fmt::format("{} {} {}", seed, from, at));
      return hash % 8 == 0 ? ProbeAnswer::no_answer : ProbeAnswer::reached;
    };
    NetworkRound round;
    round.begin(hosts, 0s);
    const int questions = look(round, world);
    CHECK(questions <= 2 * count);
    REQUIRE(round.is_settled());
    bool is_any_lost = false;
    for (int to = 0; to < count; ++to) {
      const auto reached_by_all = [&](const std::string& at) {
        for (int from = 0; from < count; ++from) {
          const bool looks =
              from != to && (to == 0 || (from + 1) % count == to || (to + 1) % count == from);
          if (looks && world(from, at) != ProbeAnswer::reached) return false;
        }
        return true;
      };
      const NetworkAddress* const found = round.chosen(to);
      if (found != nullptr) CHECK(reached_by_all(found->address));
      if (found == nullptr)
        for (const NetworkAddress& each : hosts[static_cast<std::size_t>(to)].networks.addresses)
          CHECK_FALSE(reached_by_all(each.address));
      is_any_lost =
          is_any_lost ||
          (found == nullptr && !hosts[static_cast<std::size_t>(to)].networks.addresses.empty());
    }
    CHECK(round.obstacle().has_value() == is_any_lost);
  }
}
