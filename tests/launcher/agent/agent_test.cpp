// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"
#include "launcher/agent/launch_values.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/agent/agent_bench.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

TEST_CASE("an agent introduces itself when its launcher attaches") {
  Bench b;
  CHECK_FALSE(b.agent.next_deadline());
  b.connect();
  CHECK(said<message::Hello>(b.last) == message::Hello{wire_version, "node1", "boot", 42});
  CHECK(b.agent.next_deadline() == b.now + Agent::silence_limit);
}

TEST_CASE("nothing is started before the launcher says go") {
  Bench b;
  b.connect();
  b.prepare({4, 5});
  CHECK(has<agent_action::CheckHost>(b.last));
  CHECK_FALSE(has<agent_action::StartRank>(b.last));
  b.on(agent_event::HostChecked{{}, {29'500}, "/tmp/run"});
  CHECK(said<message::Ready>(b.last) == message::Ready{{29'500}, "/tmp/run"});
  CHECK_FALSE(has<agent_action::StartRank>(b.last));
  b.say(message::Go{"10.0.0.1", 29'500});
  CHECK(has<agent_action::ReleasePorts>(b.last));
  const auto started = all<agent_action::StartRank>(b.last);
  REQUIRE(started.size() == 2);
  CHECK(started[1].rank == 5);
  CHECK(b.agent.command_of({}, 5).environment.front() ==
        EnvironmentEntry{"PORT", "29500", AtLaunch::no, false});
}

TEST_CASE("go, ready and prepare count once and only in their turn") {
  Bench b;
  b.connect();
  CHECK(b.say(message::Go{"a", 1}).empty());
  b.prepare({0});
  CHECK(b.say(message::Go{"a", 1}).empty());
  b.on(agent_event::HostChecked{{}, {}, "/r"});
  b.prepare({9});
  CHECK(b.last.empty());
  b.say(message::Go{"a", 1});
  CHECK(all<agent_action::StartRank>(b.last).size() == 1);
  CHECK(b.say(message::Go{"a", 1}).empty());
}

TEST_CASE("a host that lacks something refuses and starts nothing") {
  Bench b;
  b.connect();
  b.prepare({0});
  b.on(agent_event::HostChecked{{{{}, {}, "no 'python3'", "install it"}}, {1}, "/r"});
  REQUIRE(said<message::Refused>(b.last));
  CHECK(said<message::Refused>(b.last)->problems.front().message == "no 'python3'");
  CHECK_FALSE(has<agent_action::StartRank>(b.say(message::Go{"a", 1})));
  CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
  CHECK(b.agent.gone());
}

TEST_CASE("what ranks leave in the background is killed when all have ended by themselves") {
  Bench b;
  b.start({0, 1});
  b.end(0, 0);
  REQUIRE(said<message::RankEnded>(b.last));
  CHECK_FALSE(said<message::RankEnded>(b.last)->after_stop);
  CHECK_FALSE(has<agent_action::KillTree>(b.last));
  b.end(1, 3);
  CHECK(said<message::RankEnded>(b.last)->code == 3);
  CHECK(has<agent_action::KillTree>(b.last));
  b.on(agent_event::TreeKilled{{{77, 0, "stuck"}}});
  CHECK(said<message::Finished>(b.last) == message::Finished{{{77, 0, "stuck"}}});
  CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
}

TEST_CASE("a rank that cannot be started is told, and counts as ended") {
  Bench b;
  b.make_ready({0});
  b.say(message::Go{"a", 1});
  b.on(agent_event::RankNotStarted{0, "exec: no such file"});
  CHECK(said<message::RankNotStarted>(b.last) == message::RankNotStarted{0, "exec: no such file"});
  CHECK(has<agent_action::KillTree>(b.last));
}

TEST_CASE("a host without ranks finishes as soon as it may go") {
  Bench b;
  b.make_ready({});
  b.say(message::Go{"a", 1});
  CHECK(has<agent_action::KillTree>(b.last));
  b.on(agent_event::TreeKilled{});
  CHECK(said<message::Finished>(b.last));
}

TEST_CASE("a stop before go starts nothing and finishes once nothing is under way") {
  const int progress = GENERATE(0, 1, 2);
  Bench b;
  b.connect();
  if (progress > 0) b.prepare({0});
  if (progress > 1) b.on(agent_event::HostChecked{{}, {1}, "/r"});
  b.say(message::Stop{10s});
  CHECK(said<message::Finished>(b.last).has_value() == (progress != 1));
  CHECK(b.on(agent_event::HostChecked{{}, {1}, "/r"}).empty());
  if (progress == 1) CHECK(said<message::Finished>(b.on(agent_event::TreeKilled{})));
  CHECK(b.say(message::Go{"a", 1}).empty());
  CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
}

TEST_CASE("a stop is TERM, the grace, then KILL") {
  Bench b;
  b.start({0, 1, 2});
  b.end(1, 0);
  b.say(message::Stop{10s});
  CHECK(terminated(b.last) == std::vector{0, 2});
  CHECK(b.agent.next_deadline() == b.now + 10s);
  b.now += 1s;
  CHECK(b.end(0, 143).size() == 1);
  CHECK(said<message::RankEnded>(b.last)->after_stop);
  CHECK_FALSE(has<agent_action::KillTree>(b.tick(b.now + 8s)));
  CHECK(has<agent_action::KillTree>(b.tick(b.now + 1s)));
  b.end(2, 0);
  b.on(agent_event::TreeKilled{});
  CHECK(said<message::Finished>(b.last));
}

TEST_CASE("a stop is the stop file, the notice, the stop signal, the grace, then KILL") {
  Bench b;
  b.stop_signal = 10;
  b.start({0, 1});
  b.say(message::Stop{10s, 30s});
  CHECK(has<agent_action::MakeStopFile>(b.last));
  CHECK(terminated(b.last).empty());
  CHECK(b.agent.next_deadline() == b.now + 30s);
  const Instant stopped = b.now;
  b.now += 5s;
  b.end(0, 1);  // it has seen the file
  CHECK(said<message::RankEnded>(b.last)->after_stop);
  CHECK(terminated(b.tick(stopped + 30s - 1ns)).empty());
  b.tick(stopped + 30s);
  REQUIRE(terminated(b.last) == std::vector{1});
  CHECK(all<agent_action::TerminateRank>(b.last).front().signal == 10);
  CHECK(b.agent.next_deadline() == stopped + 40s);
  CHECK_FALSE(has<agent_action::KillTree>(b.tick(stopped + 40s - 1ns)));
  CHECK(has<agent_action::KillTree>(b.tick(stopped + 40s)));
}

TEST_CASE("what is left of a notice can be skipped, and the grace is as before") {
  Bench b;
  b.start({0});
  b.say(message::Stop{10s, 30s});
  b.now += 4s;
  b.say(message::Stop{10s});
  CHECK(terminated(b.last) == std::vector{0});
  CHECK_FALSE(has<agent_action::MakeStopFile>(b.last));
  CHECK(b.agent.next_deadline() == b.now + 10s);
  b.say(message::Stop{10s, 30s});  // as is told again after a reconnect
  CHECK(b.last.empty());
  CHECK(b.agent.next_deadline() == b.now + 10s);
  CHECK(has<agent_action::KillTree>(b.say(message::Stop{})));
}

TEST_CASE("a notice without a grace ends in KILL, and not before") {
  Bench b;
  b.start({0});
  b.say(message::Stop{0s, 30s});
  CHECK_FALSE(has<agent_action::KillTree>(b.last));
  CHECK(has<agent_action::KillTree>(b.tick(b.now + 30s)));
}

TEST_CASE("a rank that is started within the notice gets the signal with the others") {
  Bench b;
  b.make_ready({0});
  b.say(message::Go{"a", 1});
  b.say(message::Stop{10s, 30s});
  b.on(agent_event::RankStarted{0, 100});
  CHECK(terminated(b.last).empty());
  CHECK(terminated(b.tick(b.now + 30s)) == std::vector{0});
}

TEST_CASE("every stop of the agent itself begins with the stop file, and has the notice") {
  Bench b;
  b.stop_notice = 20s;
  b.start({0});
  SECTION("its launcher is lost") { b.lose_link(); }
  SECTION("it has failed") { b.on(agent_event::Failed{"out of memory"}); }
  SECTION("it is dismissed") { b.on(agent_event::Dismissed{}); }
  CHECK(has<agent_action::MakeStopFile>(b.last));
  CHECK(terminated(b.last).empty());
  CHECK(terminated(b.tick(b.now + 20s)) == std::vector{0});
  CHECK(has<agent_action::KillTree>(b.tick(b.now + 7s)));  // as the launcher wants it
}

TEST_CASE("a stop file that could not be made is told, and changes nothing") {
  Bench b;
  b.start({0});
  b.say(message::Stop{10s, 30s});
  b.on(agent_event::NoStopFile{"no room"});
  CHECK(said<message::NoStopFile>(b.last) == message::NoStopFile{"no room"});
  CHECK(terminated(b.tick(b.now + 30s)) == std::vector{0});
}

TEST_CASE("a stop without grace kills at once") {
  Bench b;
  b.start({0});
  b.say(message::Stop{0s});
  CHECK(terminated(b.last).empty());
  CHECK(has<agent_action::KillTree>(b.last));
}

TEST_CASE("a second stop can shorten the grace and never lengthens it") {
  Bench b;
  b.start({0});
  b.say(message::Stop{10s});
  b.say(message::Stop{60s});
  CHECK(terminated(b.last).empty());  // it was told already
  CHECK(b.agent.next_deadline() == b.now + 10s);
  b.say(message::Stop{3s});
  CHECK(b.agent.next_deadline() == b.now + 3s);
  CHECK(has<agent_action::KillTree>(b.say(message::Stop{0s})));
  CHECK(b.say(message::Stop{0s}).empty());
}

TEST_CASE("a stop between a start and its announcement reaches the rank") {
  Bench b;
  b.make_ready({0});
  b.say(message::Go{"a", 1});
  b.say(message::Stop{10s});
  CHECK(terminated(b.last).empty());
  b.on(agent_event::RankStarted{0, 100});
  CHECK(terminated(b.last) == std::vector{0});
}

TEST_CASE("a rank that ended before the stop ended by itself, however late that is told") {
  Bench b;
  b.start({0, 1});
  const Instant ended = b.now;
  b.now += 5s;
  b.say(message::Stop{10s});
  b.on(agent_event::RankEnded{0, 1, std::nullopt, false, ended, {}});
  CHECK_FALSE(said<message::RankEnded>(b.last)->after_stop);
  b.on(agent_event::RankEnded{1, std::nullopt, 15, false, b.now, {}});
  CHECK(said<message::RankEnded>(b.last)->after_stop);
}

TEST_CASE("without ranks running a lost launcher ends the agent at once") {
  const int progress = GENERATE(0, 1, 2, 3);
  const bool silent = GENERATE(false, true);
  Bench b;
  b.connect();
  if (progress > 0) b.prepare({0});
  if (progress > 1) b.on(agent_event::HostChecked{{}, {1}, "/r"});
  if (progress > 2) b.say(message::Stop{0s});
  if (silent)
    b.tick(b.now + Agent::silence_limit);
  else
    b.on(agent_event::LinkDown{b.link});
  CHECK(has<agent_action::Leave>(b.last));
  CHECK(b.agent.gone());
  CHECK_FALSE(b.agent.next_deadline());
}

TEST_CASE("a launcher lost while ranks run stops them with the plan's grace") {
  const int how = GENERATE(0, 1, 2, 3);
  Bench b;
  b.start({0, 1});
  b.now += 1s;
  if (how == 0) b.on(agent_event::LinkDown{b.link});
  if (how == 1) b.tick(b.now + Agent::silence_limit);
  if (how == 2) b.say(message::Bye{});
  if (how == 3) b.say(message::Acknowledge{99});  // of output that was never sent
  CHECK(terminated(b.last) == std::vector{0, 1});
  CHECK(b.agent.next_deadline() == b.now + 7s);
  CHECK(has<agent_action::KillTree>(b.tick(b.now + 7s)));
  CHECK(b.end(0, 1).empty());  // there is nobody to tell
  CHECK(b.end(1, 1).empty());
  CHECK(has<agent_action::Leave>(b.on(agent_event::TreeKilled{})));
}

TEST_CASE("ranks that end in time after the launcher was lost need no kill deadline") {
  Bench b;
  b.start({0});
  b.on(agent_event::LinkDown{b.link});
  CHECK(has<agent_action::KillTree>(b.end(0, 143)));
  CHECK_FALSE(b.agent.next_deadline());
  CHECK(has<agent_action::Leave>(b.on(agent_event::TreeKilled{})));
}

TEST_CASE("a launcher lost while output is flushed ends the agent") {
  Bench b;
  b.start({0});
  b.on(agent_event::RankPrinted{0, OutputStream::out, "x"});
  b.end(0, 0);
  b.on(agent_event::TreeKilled{});
  CHECK_FALSE(said<message::Finished>(b.last));
  CHECK(has<agent_action::Leave>(b.on(agent_event::LinkDown{b.link})));
}

TEST_CASE("a launcher that was given up has no say any more") {
  Bench b;
  b.start({0});
  b.on(agent_event::RankPrinted{0, OutputStream::out, "x"});
  b.on(agent_event::LinkDown{b.link});
  CHECK(b.say(message::Acknowledge{1}).empty());
  CHECK(b.say(message::Ping{1s}).empty());
  CHECK(b.say(message::Stop{0s}).empty());
  CHECK(b.on(agent_event::ContextReceived{b.link, "x"}).empty());
  CHECK(b.on(agent_event::RankPrinted{0, OutputStream::out, "y"}).empty());
}

TEST_CASE("heartbeats keep the launcher alive and are answered") {
  Bench b;
  b.start({0});
  b.now += Agent::silence_limit - 1s;
  b.say(message::Ping{5s});
  CHECK(said<message::Pong>(b.last) == message::Pong{5s, b.now});
  CHECK(b.tick(b.now + 2s).empty());
  CHECK(b.agent.next_deadline() == b.now - 2s + Agent::silence_limit);
}

TEST_CASE("all output is acknowledged before the agent says finished") {
  Bench b;
  b.start({0});
  b.on(agent_event::RankPrinted{0, OutputStream::out, "a"});
  b.on(agent_event::RankPrinted{0, OutputStream::err, "b"});
  CHECK(*all<agent_action::SendOutput>(b.last).front().chunk ==
        OutputChunk{2, 0, OutputStream::err, "b", b.now, 1});
  b.end(0, 0);
  b.on(agent_event::RankPrinted{0, OutputStream::out, "c"});  // from the background, while killing
  b.on(agent_event::TreeKilled{});
  CHECK_FALSE(said<message::Finished>(b.last));
  CHECK_FALSE(said<message::Finished>(b.say(message::Acknowledge{2})));
  CHECK(said<message::Finished>(b.say(message::Acknowledge{3})));
  CHECK(b.say(message::Acknowledge{3}).empty());
  CHECK(b.on(agent_event::RankPrinted{0, OutputStream::out, "late"}).empty());
}

TEST_CASE("reading pauses while the queue is full and goes on when there is room") {
  Bench b(1'000);
  b.start({0});
  b.on(agent_event::RankPrinted{0, OutputStream::out, std::string(900, 'x')});
  CHECK_FALSE(has<agent_action::PauseReading>(b.last));
  b.on(agent_event::RankPrinted{0, OutputStream::out, std::string(900, 'x')});
  CHECK(all<agent_action::PauseReading>(b.last).size() == 1);
  b.on(agent_event::RankPrinted{0, OutputStream::out, std::string(900, 'x')});
  CHECK_FALSE(has<agent_action::PauseReading>(b.last));
  CHECK_FALSE(has<agent_action::ResumeReading>(b.say(message::Acknowledge{1})));
  CHECK(has<agent_action::ResumeReading>(b.say(message::Acknowledge{3, 0, 3})));
}

TEST_CASE("a full queue never keeps ranks from ending") {
  const bool launcher_lost = GENERATE(false, true);
  Bench b(1'000, 100);
  b.start({0});
  b.on(agent_event::RankPrinted{0, OutputStream::out, std::string(2000, 'x')});
  REQUIRE(has<agent_action::PauseReading>(b.last));
  if (launcher_lost) {
    b.on(agent_event::LinkDown{b.link});
    CHECK(has<agent_action::ResumeReading>(b.last));
  } else {
    b.say(message::Stop{0s});
    CHECK(has<agent_action::KillTree>(b.last));
  }
  b.on(agent_event::RankPrinted{0, OutputStream::out, std::string(2000, 'x')});
  CHECK_FALSE(has<agent_action::PauseReading>(b.last));
  b.end(0, 143);
  b.on(agent_event::TreeKilled{});
  CHECK_FALSE(has<agent_action::PauseReading>(b.last));
  CHECK(has<agent_action::Leave>(b.last) == launcher_lost);
}

// One that cannot be killed may print for as long as that is tried.
TEST_CASE("what ranks print that are being killed is read as far as there is room for it") {
  Bench b(1'000, 100);
  b.spool.drops = GENERATE(false, true);
  b.start({0});
  if (b.spool.drops) b.print(0, std::string(2000, 'x'));  // from now on it drops
  b.say(message::Stop{0s});
  REQUIRE(has<agent_action::KillTree>(b.last));
  b.print(0, std::string(2000, 'y'));
  CHECK(has<agent_action::PauseReading>(b.last));
  b.print(0, "in its pipe");
  CHECK_FALSE(has<agent_action::PauseReading>(b.last));
  bool is_resumed = false;
  for (std::uint64_t chunk = 1; chunk > 0;) {
    b.say(message::Acknowledge{chunk, 1u << 20, chunk});
    is_resumed = is_resumed || has<agent_action::ResumeReading>(b.last);
    const auto sent = all<agent_action::SendOutput>(b.last);
    chunk = sent.empty() ? 0 : sent.back().chunk->number;
  }
  CHECK(is_resumed);
  b.end(0, 143);
  b.on(agent_event::TreeKilled{});
  CHECK(said<message::Finished>(b.last));
}

TEST_CASE("an agent that has left does nothing more") {
  Bench b;
  b.connect();
  b.say(message::Bye{});
  CHECK(b.agent.gone());
  CHECK(b.say(message::Bye{}).empty());
  CHECK(b.on(agent_event::LinkDown{b.link}).empty());
  CHECK(b.tick(b.now + 1h).empty());
}

TEST_CASE("an agent that is ready looks for other hosts, as often as it is asked") {
  Bench b;
  b.connect();
  const std::vector<ProbeTarget> targets{{1, {"10.0.0.2"}, 4'711, "token"}};
  CHECK(b.say(message::Probe{targets, false}).empty());  // there is no attempt
  b.prepare({0});
  CHECK(b.say(message::Probe{targets, false}).empty());
  const HostNetworks networks{{{"eth0", "10.0.0.1", "10.0.0.0/24"}}, 4'712, "other"};
  b.on(agent_event::HostChecked{.run_directory = "/r", .networks = networks});
  REQUIRE(said<message::Ready>(b.last));
  CHECK(said<message::Ready>(b.last)->networks == networks);
  for (const bool is_thorough : {false, true}) {
    const auto asked = all<agent_action::ProbeHosts>(b.say(message::Probe{targets, is_thorough}));
    REQUIRE(asked.size() == 1);
    CHECK(asked.front().targets == targets);
    CHECK(asked.front().is_thorough == is_thorough);
    const std::vector<ProbeResult> results{{1, {ProbeAnswer::reached}}};
    CHECK(said<message::Probed>(b.on(agent_event::HostsProbed{results, {}})) ==
          message::Probed{results});
  }
}

TEST_CASE("ranks are told the network that was chosen for their host") {
  const auto told = [](int rank, const std::vector<message::NetworkChoice>& networks,
                       AtLaunch fact = AtLaunch::network_interface) {
    message::Go go;
    go.networks = networks;
    const auto entries = fill_in({{"X", "", fact}}, go, "t", "/r", rank, {});
    return entries.empty() ? std::string("unset") : entries.front().text;
  };
  CHECK(told(0, {}) == "unset");
  CHECK(told(3, {{0, "eth0"}}) == "eth0");
  const std::vector<message::NetworkChoice> choices{
      {2, "eth0"}, {4, "ens3", false}, {6, ""}, {8, "eth0"}};
  CHECK(told(1, choices) == "unset");
  CHECK(told(2, choices) == "eth0");
  CHECK(told(5, choices) == "ens3");
  CHECK(told(7, choices) == "unset");
  CHECK(told(9, choices) == "eth0");
  CHECK(told(3, choices, AtLaunch::nccl_interface) == "=eth0");
  CHECK(told(5, choices, AtLaunch::nccl_interface) == "unset");  // there are others as good
  CHECK(told(7, choices, AtLaunch::nccl_interface) == "unset");
}

TEST_CASE("everything that only a launch can know is filled in") {
  const message::Go go{"10.0.0.1", 29'500, "10.0.0.2", 8'081, {"a:1", "b:2", "c:3", "d:4"}};
  const message::Go ipv6{"fd00::1", 29'500};
  const auto filled = [](AtLaunch fact, const message::Go& m) {
    const auto entries = fill_in({{"X", "", fact, true}}, m, "taskid", "/run/t", 3);
    CHECK(entries.front().at_launch == AtLaunch::no);
    CHECK(entries.front().secret);
    return entries.front().text;
  };
  CHECK(filled(AtLaunch::task_id, go) == "taskid");
  CHECK(filled(AtLaunch::rendezvous_address, ipv6) == "fd00::1");
  CHECK(filled(AtLaunch::rendezvous_port, go) == "29500");
  CHECK(filled(AtLaunch::rendezvous_endpoint, go) == "10.0.0.1:29500");
  CHECK(filled(AtLaunch::rendezvous_endpoint, ipv6) == "[fd00::1]:29500");
  CHECK(filled(AtLaunch::rendezvous_host, go) == "10.0.0.1");
  CHECK(filled(AtLaunch::rendezvous_host, ipv6) == "[fd00::1]");
  CHECK(filled(AtLaunch::megascale_address, go) == "10.0.0.2");
  CHECK(filled(AtLaunch::megascale_port, go) == "8081");
  CHECK(filled(AtLaunch::tensorflow_cluster, go) ==
        R"({"cluster":{"worker":["a:1","b:2","c:3","d:4"]},"task":{"type":"worker","index":3}})");
  CHECK(filled(AtLaunch::hyperparameters_file, go) == "/run/t/hparams.json");
  CHECK(filled(AtLaunch::data_file, go) == "/run/t/data.json");
  CHECK(filled(AtLaunch::run_directory, go) == "/run/t");
  CHECK(filled(AtLaunch::error_file, go) == "/run/t/error-3.json");
  CHECK(filled(AtLaunch::stop_file, go) == "/run/t/stop-0");
  message::Go third = go;
  third.of = {0, 2};
  CHECK(filled(AtLaunch::stop_file, third) == "/run/t/stop-2");
  CHECK(fill_in({{"X", "kept", AtLaunch::no, false}}, go, "", "", 0).front().text == "kept");
}

TEST_CASE("slots become the devices of the host, or nothing") {
  const HostGpus gpus{.cuda = {3, 1}, .rocm = {5, 7}};
  const auto filled = [&](AtLaunch fact, std::optional<SlotMeaning> slots, const char* of) {
    message::Go go{"10.0.0.1", 29'500};
    go.slots = slots;
    const auto entries = fill_in({{"X", of, fact}}, go, "t", "/run/t", 0, gpus);
    return entries.empty() ? "(unset)" : entries.front().text;
  };
  using enum SlotMeaning;
  CHECK(filled(AtLaunch::cuda_devices, cuda, "0,1") == "3,1");
  CHECK(filled(AtLaunch::cuda_devices, cuda, "1") == "1");
  CHECK(filled(AtLaunch::cuda_devices, cuda, "1,2,x") == "1");  // no launcher of ours says that
  CHECK(filled(AtLaunch::cuda_devices, places, "0,1") == "");
  CHECK(filled(AtLaunch::cuda_devices, rocm, "0,1") == "(unset)");
  CHECK(filled(AtLaunch::rocm_devices, rocm, "1,0") == "7,5");
  CHECK(filled(AtLaunch::rocm_devices, cuda, "0") == "(unset)");
  CHECK(filled(AtLaunch::rocm_devices, places, "0") == "(unset)");
  CHECK(filled(AtLaunch::device_positions, cuda, "1") == "1");
  CHECK(filled(AtLaunch::device_positions, places, "1") == "(unset)");
  CHECK(filled(AtLaunch::backend, rocm, "") == "nccl");
  CHECK(filled(AtLaunch::backend, places, "") == "gloo");
}

TEST_CASE("threads are those of one worker") {
  const auto filled = [](const char* workers, int threads) {
    const auto entries =
        fill_in({{"X", workers, AtLaunch::threads}}, {}, "t", "/run", 0, {}, threads);
    return entries.empty() ? "(unset)" : entries.front().text;
  };
  CHECK(filled("1", 6) == "6");
  CHECK(filled("4", 6) == "1");
  CHECK(filled("2", 6) == "3");
  CHECK(filled("4", 0) == "1");
  CHECK(filled("1", 0) == "(unset)");
  CHECK(filled("0", 6) == "6");  // no launcher of ours says that
  CHECK(filled("x", 6) == "6");
}

TEST_CASE("an agent says what it counted, and starts ranks with it") {
  Bench b;
  b.connect();
  message::Prepare prepare;
  prepare.task_id = "t";
  prepare.ranks = {{0, {"true", {}}, "/", {{"CUDA_VISIBLE_DEVICES", "1", AtLaunch::cuda_devices}}}};
  b.say(prepare);
  b.on(agent_event::HostChecked{.run_directory = "/run", .gpus = {.cuda = {4, 6}}});
  CHECK(said<message::Ready>(b.last) == message::Ready{{}, "/run", {.cuda = {4, 6}}});
  message::Go go{"10.0.0.1", 29'500};
  go.slots = SlotMeaning::cuda;
  b.say(go);
  REQUIRE(b.agent.command_of({}, 0).environment.size() == 1);
  CHECK(b.agent.command_of({}, 0).environment.front().text == "6");
}

namespace {

const Context context{std::string(64, 'a'), 10'240};

void prepare_with_context(Bench& b) {
  b.connect();
  message::Prepare m{"taskid", {}, 1, {}, 7s, 0s, brief_launcher_wait, {}, context};
  for (const char* directory : {"", "src/deep", "/absolute"})
    m.ranks.push_back({static_cast<int>(m.ranks.size()), {"true", {}}, directory, {}});
  b.say(m);
}

std::vector<std::string> directories(const message::Prepare& prepare) {
  std::vector<std::string> found;
  for (const RankCommand& command : prepare.ranks) found.push_back(command.working_directory);
  return found;
}

}  // namespace

TEST_CASE("a host is checked once the context is there, and ranks start in the copy of it") {
  Bench b;
  prepare_with_context(b);
  CHECK(all<agent_action::FindContext>(b.last).at(0).context == context);
  CHECK_FALSE(has<agent_action::CheckHost>(b.last));
  b.on(agent_event::ContextReady{"/home/me/copy"});
  const auto checks = all<agent_action::CheckHost>(b.last);
  REQUIRE(checks.size() == 1);
  const std::vector<std::string> wanted{"/home/me/copy", "/home/me/copy/src/deep", "/absolute"};
  CHECK(directories(checks[0].prepare) == wanted);
  CHECK(b.agent.command_of({}, 1).working_directory == wanted[1]);
  CHECK(b.on(agent_event::ContextReady{"/again"}).empty());
}

TEST_CASE("a context that is not there is asked for, piece by piece") {
  Bench b;
  prepare_with_context(b);
  b.on(agent_event::ContextTaken{0});
  CHECK(said<message::WantContext>(b.last) == message::WantContext{0});
  b.now += Agent::silence_limit - 1s;
  b.on(agent_event::ContextReceived{b.link, "piece"});
  CHECK(all<agent_action::TakeContext>(b.last).at(0).bytes == "piece");
  CHECK(b.agent.next_deadline() == b.now + Agent::silence_limit);
  b.on(agent_event::ContextTaken{5});
  CHECK(said<message::WantContext>(b.last) == message::WantContext{5});
}

TEST_CASE(
    "a context that the host cannot take is the host's trouble, and what still comes is lost") {
  Bench b;
  prepare_with_context(b);
  b.on(agent_event::ContextTaken{0});
  b.on(agent_event::ContextFailed{make_error(ErrorClass::host, "no space", "make room")});
  CHECK(said<message::Refused>(b.last) ==
        message::Refused{{{{}, {}, "no space", "make room"}}, ErrorClass::host});
  CHECK_FALSE(has<agent_action::TakeContext>(b.on(agent_event::ContextReceived{b.link, "piece"})));
  CHECK(b.on(agent_event::ContextTaken{5}).empty());
  CHECK(has<agent_action::Leave>(b.say(message::Bye{})));
}

TEST_CASE("an agent that waits for its context leaves with its launcher, and stops when told") {
  for (const bool is_lost : {true, false}) {
    Bench b;
    prepare_with_context(b);
    if (is_lost) {
      CHECK(has<agent_action::Leave>(b.on(agent_event::LinkDown{b.link})));
    } else {
      CHECK(said<message::Finished>(b.say(message::Stop{0ms})));
      CHECK(b.on(agent_event::ContextReady{"/copy"}).empty());
    }
  }
}

TEST_CASE("a piece that nobody asked for is ignored") {
  Bench b;
  b.start({0});
  CHECK(b.on(agent_event::ContextReceived{b.link, "piece"}).empty());
  CHECK(b.on(agent_event::ContextTaken{1}).empty());
}

TEST_CASE("what a check or a start waits for is told while it lasts, and not afterwards") {
  Bench b;
  const agent_event::Blocked blocked{"stat of '/nfs/x'", 25s};
  b.connect();
  b.prepare({0});
  b.on(blocked);
  CHECK(said<message::Blocked>(b.last) == message::Blocked{"stat of '/nfs/x'", 25s});
  CHECK(said<message::Pong>(b.say(message::Ping{1s})));
  b.on(agent_event::HostChecked{{}, {29'500}, "/tmp/run"});
  CHECK(b.on(blocked).empty());
  b.say(message::Go{"a", 1});
  CHECK(said<message::Blocked>(b.on(blocked)));
}

TEST_CASE("a refusal and a failed start say of which kind the trouble is") {
  Bench b;
  b.connect();
  b.prepare({0});
  SECTION("the host's, at the check") {
    b.on(agent_event::HostChecked{{{{}, {}, "too few descriptors", ""}}, {}, {}, ErrorClass::host});
    REQUIRE(said<message::Refused>(b.last));
    CHECK(said<message::Refused>(b.last)->error_class == ErrorClass::host);
  }
  SECTION("the host's, at the start") {
    b.on(agent_event::HostChecked{{}, {1}, "/r"});
    b.say(message::Go{"a", 1});
    b.on(agent_event::RankNotStarted{0, "too many open files", ErrorClass::host});
    REQUIRE(said<message::RankNotStarted>(b.last));
    CHECK(said<message::RankNotStarted>(b.last)->error_class == ErrorClass::host);
  }
}

TEST_CASE("a port that another user took is told while there is a run") {
  Bench b;
  const agent_event::PortTaken taken{29'500, 1000};
  b.make_ready({0});
  CHECK(b.on(taken).empty());
  b.say(message::Go{"a", 1});
  CHECK(said<message::PortTaken>(b.on(taken)) == message::PortTaken{29'500, 1000});
}

TEST_CASE("an agent that fails says so before anything else, and stops its ranks") {
  Bench b;
  const agent_event::Failed failed{"cannot start a thread"};
  SECTION("before there are any") {
    b.make_ready({0});
    b.on(failed);
    CHECK(said<message::AgentFailed>(b.last) == message::AgentFailed{"cannot start a thread"});
    CHECK_FALSE(has<agent_action::StartRank>(b.say(message::Go{"a", 1})));
    CHECK(said<message::Finished>(b.say(message::Stop{1s})));  // the launcher has said go already
  }
  SECTION("while they run") {
    b.start({0, 1});
    b.on(failed);
    CHECK(said<message::AgentFailed>(b.last));
    CHECK(terminated(b.last) == std::vector{0, 1});
    b.tick(b.now + 7s);
    CHECK(has<agent_action::KillTree>(b.last));
  }
  SECTION("while it kills them, which is done once more") {
    b.start({0});
    b.say(message::Stop{0s});
    b.on(failed);
    CHECK(has<agent_action::KillTree>(b.last));
    b.on(agent_event::TreeKilled{});
    CHECK(said<message::Finished>(b.last));
  }
}
