// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run.hpp"

#include "tests/launcher/run/run_bench.hpp"

using namespace train;
using namespace std::chrono_literals;
using State = RankOutcome::State;

TEST_CASE("of hosts whose ranks share cores one is named, and what ranks are bound to is known") {
  RunBench b({1, 1});
  for (int host = 0; host < 2; ++host) b.open(host);
  for (int host = 0; host < 2; ++host) b.ready(host);
  b.say(0, message::RankStarted{0, 1, {}, {0, 1}, true});
  REQUIRE(b.all<host_action::Note>().size() == 1);
  CHECK(b.all<host_action::Note>().front().text ==
        "host 'h0': a rank would get less than one core with 'cpu_binding: exclusive', so ranks "
        "share those of their NUMA node there (further hosts are not named)");
  b.say(1, message::RankStarted{1, 1, {}, {2}, true});
  CHECK(b.all<host_action::Note>().empty());
  REQUIRE(b.run.cpus_of(1) != nullptr);
  CHECK(*b.run.cpus_of(1) == std::vector<int>{2});
  CHECK(b.run.cpus_of(2) == nullptr);
}

TEST_CASE("every host is prepared as soon as it is open, and none goes before all are ready") {
  RunBench b({2, 1, 1});
  b.open(1);
  CHECK(b.told<message::Ping>() == std::vector{1});
  CHECK(b.has<run_action::SendPrepare>());
  b.ready(1);
  b.open(0);
  b.open(2);
  b.ready(2);
  CHECK(b.last.empty());
  b.ready(0);
  CHECK(b.started() == std::vector{0, 1, 2});
  CHECK(b.run.start_message() == message::Go{"10.0.0.1", 1'000});
}

TEST_CASE("a single host meets on loopback") {
  RunBench b({4});
  b.open(0);
  b.ready(0);
  CHECK(b.run.start_message() == message::Go{"127.0.0.1", 1'000});
}

TEST_CASE("others reach this machine by what it is on the connections to them") {
  const auto address_of_first = [](const std::vector<connection_event::HostOpened>& opened) {
    RunBench b(std::vector<int>(opened.size(), 1));
    for (const auto& event : opened) b.on(event);
    for (int host = 0; host < b.hosts(); ++host) b.ready(host);
    return b.run.start_message().rendezvous_address;
  };
  CHECK(address_of_first({{0, "127.0.0.1"}, {1, "10.0.0.2", "10.0.0.9"}}) == "10.0.0.9");
  CHECK(address_of_first({{0, "::1", "::1"}, {1, "fd00::2", "fd00::9"}}) == "fd00::9");
  CHECK(address_of_first({{0, "10.0.0.2", "10.0.0.9"}, {1, "127.0.0.1"}}) == "10.0.0.2");
  CHECK(address_of_first({{0, "127.0.0.1"}, {1, "127.0.0.1", "127.0.0.1"}}) == "127.0.0.1");
  CHECK(address_of_first({{0, "10.0.0.2", "10.0.0.9"}}) == "127.0.0.1");
  // What the hosts file says goes before that; what is only likely comes after it.
  CHECK(address_of_first({{0, "127.0.0.1", "10.1.0.9", "10.2.0.9"}, {1, "10.0.0.2", "10.0.0.9"}}) ==
        "10.1.0.9");
  CHECK(address_of_first({{0, "127.0.0.1", "", "10.2.0.9"}, {1, "10.0.0.2", "10.0.0.9"}}) ==
        "10.0.0.9");
  CHECK(address_of_first({{0, "127.0.0.1", "", "10.2.0.9"},
                          {1, "10.0.0.2", "", "10.3.0.9"},
                          {2, "10.0.0.3", "10.0.0.9"}}) == "10.0.0.9");
  CHECK(address_of_first({{0, "127.0.0.1", "", "10.2.0.9"}, {1, "10.0.0.2", "", "10.3.0.9"}}) ==
        "10.3.0.9");
  CHECK(address_of_first({{0, "127.0.0.1", "", "10.2.0.9"}, {1, "10.0.0.2", "", "127.0.0.1"}}) ==
        "10.2.0.9");
}

TEST_CASE("nobody asks for the address of a host where nothing is held") {
  RunBench b({1, 1});
  b.on(connection_event::HostOpened{0, "10.77.1.3"});
  b.on(connection_event::HostOpened{1, "127.0.0.1"});
  b.ready(0);
  b.ready(1);
  CHECK(b.started() == std::vector{0, 1});
  CHECK(b.run.start_message().rendezvous_address == "10.77.1.3");
}

TEST_CASE("loopback is never what hosts behind jump hosts are told of this machine") {
  RunBench b({1, 1});
  b.on(connection_event::HostOpened{0, "127.0.0.1"});
  b.on(connection_event::HostOpened{1, "10.77.1.3"});
  b.ready(0);
  b.ready(1);
  CHECK(b.started().empty());
  CHECK(
      b.cause() ==
      "host 'h0': the other hosts are to meet at this machine, and none of its addresses is known "
      "to be one that they reach");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
  CHECK(b.outcome().cause->error.diagnostics.front().hint ==
        "give it an 'address' or an 'interface' in the hosts file");
}

namespace {

// Hosts that were not said to have GPUs, each of two slots with a rank.
struct AskingBench : RunBench {
  explicit AskingBench(int hosts) : RunBench(std::vector<int>(static_cast<std::size_t>(hosts), 2)) {
    trial.backend = CollectiveBackend::automatic;
    for (PlannedHost& host : trial.hosts) {
      host.host.slots = 2;
      host.slots = {0, 1};
      host.devices_at_launch = true;
    }
    for (int host = 0; host < hosts; ++host) open(host);
  }
  void found(int host, HostGpus gpus) {
    std::vector<int> held;
    if (host == 0) held.push_back(1'000);
    say(host, message::Ready{held, "/run", std::move(gpus)});
  }
};

}  // namespace

TEST_CASE("what slots are is decided once all hosts have said what they have") {
  AskingBench gpus(2);
  gpus.found(1, {.cuda = {0, 1, 2}});
  CHECK(gpus.started().empty());
  gpus.found(0, {.cuda = {1, 0}});
  CHECK(gpus.started() == std::vector{0, 1});
  CHECK(gpus.run.start_message().slots == SlotMeaning::cuda);
  AskingBench places(2);
  places.found(0, {});
  places.found(1, {});
  CHECK(places.started() == std::vector{0, 1});
  CHECK(places.run.start_message().slots == SlotMeaning::places);
  RunBench known({1, 1});
  known.start();
  CHECK_FALSE(known.run.start_message().slots);
}

TEST_CASE("hosts that differ in what they have start nothing") {
  AskingBench b(2);
  b.found(0, {.cuda = {0, 1}});
  b.found(1, {});
  CHECK(b.started().empty());
  CHECK(b.told<message::Bye>() == std::vector{0, 1});
  CHECK(b.cause().ends_with("these differ: h0 2 GPUs, h1 no GPU"));
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
}

TEST_CASE("a host with fewer GPUs than slots starts nothing, and is named") {
  AskingBench b(2);
  b.found(0, {.cuda = {0, 1}});
  b.found(1, {.cuda = {0}});
  CHECK(b.started().empty());
  CHECK(b.cause() == "host 'h1': says 2 slots and has 1 GPU");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::host);
  CHECK(b.told<message::Bye>() == std::vector{0});
}

TEST_CASE("declared GPUs that are not there start nothing") {
  RunBench b({2});
  b.trial.hosts[0].host.accelerators = 2;
  b.trial.hosts[0].slots = {0, 1};
  b.trial.hosts[0].slots_are_gpus = true;
  b.open(0);
  b.ready(0);
  CHECK(b.started().empty());
  CHECK(b.cause() == "host 'h0': declares 2 GPUs, and has no GPU");
}

TEST_CASE("every worker has a port of its own, beside those of the rendezvous and of MEGASCALE") {
  RunBench b({2, 1, 1}, milliseconds(10'000),
             {.rendezvous = true, .megascale_host = 1, .workers = true});
  for (int host = 0; host < 3; ++host) b.open(host);
  for (int host = 0; host < 3; ++host) b.ready(host);
  CHECK(b.run.start_message() ==
        message::Go{"10.0.0.1",
                    1'000,
                    "10.0.0.2",
                    1'010,
                    {"10.0.0.1:1001", "10.0.0.1:1002", "10.0.0.2:1011", "10.0.0.3:1020"}});
}

TEST_CASE("a host that holds other ports than it was asked for is none of ours") {
  const auto ports = GENERATE(as<std::vector<int>>{}, std::vector<int>{}, std::vector<int>{1},
                              std::vector<int>{1, 2, 3}, std::vector<int>{1, 1});
  RunBench b({2}, milliseconds(10'000), {.rendezvous = false, .workers = true});
  b.open(0);
  b.say(0, message::Ready{ports, "/run"});
  CHECK(b.started().empty());
  CHECK(b.cause().find("host 'h0': holds ") == 0);
}

TEST_CASE("a TF_CONFIG that no kernel takes starts nothing") {
  const int workers = GENERATE(5'457, 5'459);
  RunBench b({workers - 1, 1}, milliseconds(10'000), {.rendezvous = false, .workers = true});
  for (int host = 0; host < 2; ++host) b.on(connection_event::HostOpened{host, "192.168.100.200"});
  std::vector<int> ports;
  for (int port = 10'000; static_cast<int>(ports.size()) < workers - 1; ++port)
    ports.push_back(port);
  b.say(0, message::Ready{ports, "/run"});
  b.say(1, message::Ready{{65'535}, "/run"});
  if (workers == 5'457) {
    CHECK(b.started() == std::vector{0, 1});
    return;
  }
  CHECK(b.started().empty());
  CHECK(b.cause().find("the TF_CONFIG of each of 5459 workers has") == 0);
  CHECK(b.outcome().cause->error.error_class == ErrorClass::config);
  CHECK(b.outcome().cause->host == -1);
  CHECK(b.told<message::Bye>() == std::vector{0, 1});
}

TEST_CASE("a run succeeds when every rank exits with code 0 and every host has finished") {
  RunBench b({1, 2});
  b.start();
  CHECK(b.has<run_action::AllStarted>());
  b.ended(0, 0);
  b.finished(0);
  CHECK(b.told<message::Bye>() == std::vector{0});
  CHECK(b.closed() == std::vector{0});
  b.ended(2, 0);
  b.ended(1, 0);
  CHECK_FALSE(b.run.over());
  b.finished(1);
  CHECK(b.has<run_action::Over>());
  CHECK(b.outcome().succeeded);
  CHECK(b.outcome().all_started);
  CHECK_FALSE(b.outcome().cause);
  CHECK_FALSE(b.next_deadline());
}

TEST_CASE("one host that refuses keeps every rank from being started anywhere") {
  RunBench b({1, 1, 1});
  for (int host = 0; host < 3; ++host) b.open(host);
  b.ready(0);
  b.say(1, message::Refused{{{{}, {}, "no 'python3'", ""}, {{}, {}, "no '/data'", ""}}});
  CHECK(b.started().empty());
  CHECK_FALSE(b.run.over());  // the third has not spoken yet
  b.ready(2);
  CHECK(b.told<message::Bye>() == std::vector{0, 2});
  CHECK(b.cause() == "host 'h1': no 'python3'");
  CHECK(b.outcome().cause->error.diagnostics.size() == 2);
  CHECK(b.outcome().cause->error.error_class == ErrorClass::missing);
  CHECK(b.outcome().leftovers.empty());
}

TEST_CASE("all verdicts that come within the wait are told together") {
  RunBench b({1, 1, 1, 1});
  b.open(0);
  b.open(1);
  b.open(2);
  b.say(2, message::Refused{{{{}, {}, "no '/data'", ""}}});
  CHECK(b.next_deadline() == b.now + 1s);
  b.wait(500ms);
  b.lose(1);
  CHECK_FALSE(b.run.over());
  b.lose(3);  // was never reached at all
  b.wait(500ms);
  b.tick();
  CHECK(b.cause() == "host 'h2': no '/data'");
  CHECK(b.outcome().others.size() == 2);
  CHECK(b.outcome().undecided == std::vector{0});
  CHECK(b.closed() == std::vector{0});
}

TEST_CASE("with all verdicts in, a failed start does not wait") {
  RunBench b({1, 1});
  b.lose(0);
  b.lose(1);
  CHECK(b.outcome().others.size() == 1);
  CHECK(b.outcome().undecided.empty());
  CHECK(b.outcome().leftovers.empty());
}

TEST_CASE("a host that is not ready in time is named") {
  RunBench b({1, 1});
  b.open(0);
  b.ready(0);
  b.open(1);
  for (int i = 0; i < 30; ++i) {
    b.wait(2s);
    b.tick();
    b.pong(0);
    b.pong(1);
  }
  CHECK(b.cause() == "host 'h1': was not ready after 60 s");
}

TEST_CASE("the first failure stops the others, and they are no causes") {
  RunBench b({1, 1, 1});
  b.start();
  b.ended(1, 3);
  REQUIRE(b.has<run_action::Stopping>());
  CHECK(b.all<run_action::Stopping>().front().why ==
        "rank 1 on 'h1' failed: stopping the other ranks");
  CHECK(b.told<message::Stop>() == std::vector{0, 1, 2});
  b.finished(1);
  b.ended(0, 143, true);
  b.finished(0);
  b.ended(2, std::nullopt, true);
  b.finished(2);
  CHECK(b.outcome().cause->rank == 1);
  CHECK(b.outcome().cause->exit_code == 3);
  CHECK(b.outcome().others.empty());
  CHECK(b.outcome().ranks[0].state == State::stopped);
  CHECK(b.outcome().ranks[1].state == State::failed);
  CHECK(b.outcome().ranks[2].state == State::stopped);
}

TEST_CASE("a rank that exits with 0 after the stop does not make a success") {
  RunBench b({1});
  b.start();
  b.interrupt();
  b.ended(0, 0, true);
  b.finished(0);
  CHECK_FALSE(b.outcome().succeeded);
  CHECK(b.outcome().stop_signal == 2);
}

TEST_CASE("the cause is what failed first on aligned clocks, not what was told first") {
  RunBench b({1, 1});
  for (int host = 0; host < 2; ++host) b.on(connection_event::HostOpened{host, "a"});
  b.say(0, message::Pong{b.now, 5'000s});  // ahead of the launcher by 4,000 s
  b.say(1, message::Pong{b.now, 10s});     // behind it by 990 s
  for (int host = 0; host < 2; ++host) b.ready(host);
  for (int rank = 0; rank < 2; ++rank) b.say(rank, message::RankStarted{rank, 1});
  b.wait(10s);
  b.ended_at(0, 1, 5'009s);  // 1009 s here
  b.ended_at(1, 2, 18s);     // 1008 s here
  b.finished(0);
  b.finished(1);
  CHECK(b.outcome().cause->rank == 1);
  CHECK(b.outcome().cause->at == AlignedInstant{1008s, 0s});
  CHECK(b.outcome().others.size() == 1);
  CHECK(b.outcome().simultaneous.empty());
}

TEST_CASE("failures closer than the clocks are known are simultaneous") {
  RunBench b({1, 1, 1});
  for (int host = 0; host < 3; ++host) b.on(connection_event::HostOpened{host, "a"});
  const Instant asked = b.now;
  b.wait(20ms);
  for (int host = 0; host < 3; ++host) b.say(host, message::Pong{asked, asked + 10ms});
  b.start();
  b.wait(10s);
  b.ended_at(2, 1, b.now - 80ms);
  b.ended_at(1, 1, b.now - 90ms);
  b.ended_at(0, 1, b.now - 50ms);
  for (int host = 0; host < 3; ++host) b.finished(host);
  CHECK(b.outcome().cause->rank == 1);
  CHECK(b.outcome().simultaneous == std::vector{0});
  CHECK(b.outcome().others[0].rank == 2);
}

TEST_CASE("without a round trip a failure is known no better than since the start") {
  RunBench b({1});
  b.on(connection_event::HostOpened{0, "a"});
  b.ready(0);
  b.say(0, message::RankStarted{0, 1});
  b.wait(3s);
  b.ended_at(0, 1, 77s);
  b.finished(0);
  CHECK(b.outcome().cause->at == AlignedInstant{b.now, 3s});
}

TEST_CASE("no host's clock can move a failure before the start or into the future") {
  const Instant told = GENERATE(Instant(0), Instant(std::int64_t{1} << 61));
  RunBench b({1});
  b.start();
  const Instant go = b.now;
  b.wait(3s);
  b.ended_at(0, 1, told);
  b.finished(0);
  CHECK(b.outcome().cause->at.at == (told == Instant(0) ? go : b.now));
}

TEST_CASE("round trips that a host makes up are ignored") {
  RunBench b({1});
  b.on(connection_event::HostOpened{0, "a"});
  const Instant asked = b.now;
  b.wait(10ms);
  b.say(0, message::Pong{b.now, 0s});  // never asked
  b.say(0, message::Pong{asked, asked + 5ms});
  b.say(0, message::Pong{asked, 0s});  // answered before
  b.ready(0);
  b.say(0, message::RankStarted{0, 1});
  b.wait(1s);
  b.ended_at(0, 1, b.now);
  b.finished(0);
  CHECK(b.outcome().cause->at == AlignedInstant{b.now, 5ms});
}

TEST_CASE("a rank that could not be started after all stops the run") {
  RunBench b({1, 1});
  for (int host = 0; host < 2; ++host) b.open(host);
  for (int host = 0; host < 2; ++host) b.ready(host);
  b.say(0, message::RankStarted{0, 1});
  b.say(1, message::RankNotStarted{1, "exec: Exec format error"});
  CHECK(b.told<message::Stop>() == std::vector{0, 1});
  b.finished(1);
  b.ended(0, 143, true);
  b.finished(0);
  CHECK(b.cause() == "rank 1 on 'h1' could not be started: exec: Exec format error");
  CHECK(b.outcome().cause->error.error_class == ErrorClass::missing);
  CHECK(b.outcome().ranks[1].never_started);
  CHECK_FALSE(b.outcome().all_started);
}

TEST_CASE("the last rank to start is no news once the run is being stopped") {
  RunBench b({1, 1});
  for (int host = 0; host < 2; ++host) b.open(host);
  for (int host = 0; host < 2; ++host) b.ready(host);
  b.say(0, message::RankStarted{0, 1});
  b.ended(0, 1);
  b.say(1, message::RankStarted{1, 1});
  CHECK_FALSE(b.has<run_action::AllStarted>());
}

TEST_CASE("processes that could not be killed are named, even when they are ranks") {
  RunBench b({1});
  b.start();
  b.interrupt();
  b.say(0, message::Finished{{{100, 0, "python3"}}});
  REQUIRE(b.outcome().leftovers.size() == 1);
  CHECK(b.outcome().leftovers[0].survivors.front().pid == 100);
  CHECK(b.outcome().ranks[0].state == State::running);
}

TEST_CASE("what ranks use is known as their hosts have last said it, and then in all") {
  RunBench b({2, 1});
  b.start();
  CHECK(b.run.usage_of(0) == nullptr);
  b.say(0, message::Usage{{{0, {1s, 10, 20}}, {1, {2s, 30, 40}}}});
  b.say(0, message::Usage{{{0, {3s, 5, 20}}}});
  b.say(1, message::Usage{{{2, {7s, 8, 9}}}});
  CHECK(*b.run.usage_of(0) == RankUsage{3s, 5, 20});
  CHECK(*b.run.usage_of(1) == RankUsage{2s, 30, 40});
  message::RankEnded ended{0, 0, std::nullopt, false, false, b.now, ""};
  ended.usage = {4s, {}, 25};
  b.say(0, ended);
  b.say(0, message::Usage{{{0, {1s, 1, 1}}}});  // of before
  b.ended(1, 0);
  b.finished(0);
  b.lose(1);
  CHECK(b.outcome().ranks[0].usage == RankUsage{4s, {}, 25});
  CHECK(b.outcome().ranks[1].usage == RankUsage{2s, {}, 40});
  CHECK(b.outcome().ranks[2].state == State::lost);
  CHECK(b.outcome().ranks[2].usage == RankUsage{7s, 8, 9});
  CHECK(b.run.usage_of(-1) == nullptr);
  CHECK(b.run.usage_of(3) == nullptr);
}
