// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/agent_process.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

std::vector<int> ranks_of(const AgentUnderTest& agent) {
  return running_with("TEST_DIRECTORY=" + agent.directory().path());
}

bool has_file(const AgentUnderTest& agent, const std::string& name) {
  return eventually([&] { return std::filesystem::exists(agent.directory().path() + "/" + name); });
}

// The last messages of a task: afterwards the agent is gone.
message::Finished finish(AgentUnderTest& agent) {
  auto finished = agent.next<message::Finished>();
  agent.send(message::Bye{});
  CHECK(agent.is_hung_up());
  CHECK(agent.wait() == 0);
  CHECK(ranks_of(agent).empty());
  return finished;
}

}  // namespace

TEST_CASE("an agent starts its ranks, passes on what they print, and tells how each ended") {
  AgentUnderTest agent;
  CHECK(agent.next<message::Hello>().pid == agent.pid());
  agent.send(agent.prepare({"echo one; echo two >&2", "exit 7", "kill -SEGV $$"}));
  CHECK(agent.next<message::Ready>().run_directory == agent.directory().path() + "/task-0");
  agent.send(message::Go{"127.0.0.1", 1});
  CHECK(agent.next<message::RankStarted>().pid > 0);  // the first may end before the last starts
  std::vector<message::RankEnded> ends(3);
  for (int i = 0; i < 3; ++i) {
    const auto end = agent.next<message::RankEnded>();
    ends.at(end.rank) = end;
  }
  CHECK(ends[0].code == 0);
  CHECK(ends[1].code == 7);
  CHECK(ends[2].signal == SIGSEGV);
  CHECK(std::none_of(ends.begin(), ends.end(), [](const auto& end) { return end.after_stop; }));
  CHECK(finish(agent).survivors.empty());
  CHECK(agent.output().find("one\n") != std::string::npos);
  CHECK(agent.output().find("two\n") != std::string::npos);
}

TEST_CASE("the end of a rank is told after all that it printed") {
  AgentUnderTest agent;
  agent.start({"head -c 200000 /dev/zero; exit 3"});
  CHECK(agent.next<message::RankEnded>().code == 3);
  CHECK(agent.output().size() == 200'000);
  finish(agent);
}

TEST_CASE("what all ranks lack is refused once, and nothing is started") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"touch started", "touch started"});
  for (auto& command : prepare.ranks) command.working_directory = "/nowhere/at/all";
  agent.send(prepare);
  const auto refused = agent.next<message::Refused>();
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].message.find("/nowhere/at/all") != std::string::npos);
  agent.hang_up();
  CHECK(agent.wait() == 0);
}

TEST_CASE("a program that vanishes between check and start is named") {
  AgentUnderTest agent;
  const std::string program = agent.directory().write("program", "#!/bin/sh\nexit 0\n", 0755);
  auto prepare = agent.prepare({""});
  prepare.ranks[0].entrypoint.argv = {program, "argument"};
  agent.send(prepare);
  agent.next<message::Ready>();
  std::filesystem::remove(program);
  agent.send(message::Go{"127.0.0.1", 1});
  const auto told = agent.next<message::RankNotStarted>();
  CHECK(told.rank == 0);
  CHECK(told.reason.find(program) != std::string::npos);
  finish(agent);
}

TEST_CASE("as many ports are held as were asked for") {
  const int wanted = GENERATE(0, 1, 3);
  AgentUnderTest agent;
  auto prepare = agent.prepare({"true"});
  prepare.hold_ports = wanted;
  agent.send(prepare);
  CHECK(agent.next<message::Ready>().held_ports.size() == static_cast<std::size_t>(wanted));
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

TEST_CASE("a rank gets the session's environment without what other launchers left, and its own") {
  ::setenv("SESSION_VALUE", "session", 1);
  ::setenv("OVER_VALUE", "session", 1);
  ::setenv("SLURM_JOB_ID", "7", 1);
  AgentUnderTest agent;
  auto prepare = agent.prepare({"echo \"$SESSION_VALUE,$OVER_VALUE,$SLURM_JOB_ID,$MASTER_PORT\""});
  auto& environment = prepare.ranks[0].environment;
  environment.push_back({.name = "OVER_VALUE", .text = "rank"});
  environment.push_back(
      {.name = "MASTER_PORT", .text = {}, .at_launch = AtLaunch::rendezvous_port});
  agent.send(prepare);
  agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 4321});
  finish(agent);
  CHECK(agent.output() == "session,rank,,4321\n");
  for (const char* name : {"SESSION_VALUE", "OVER_VALUE", "SLURM_JOB_ID"}) ::unsetenv(name);
}

TEST_CASE("a default of a rank gives way to the session, a value of its own does not") {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  ::setenv("PYTHONUNBUFFERED", "", 1);
  AgentUnderTest agent;
  auto prepare = agent.prepare({"echo \"$OMP_NUM_THREADS,$PYTHONUNBUFFERED,$PYTHONFAULTHANDLER\""});
  auto& environment = prepare.ranks[0].environment;
  for (const char* name : {"OMP_NUM_THREADS", "PYTHONUNBUFFERED", "PYTHONFAULTHANDLER"})
    environment.push_back({.name = name, .text = "1", .is_default = true});
  agent.send(prepare);
  agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 4321});
  finish(agent);
  CHECK(agent.output() == "3,,1\n");
  for (const char* name : {"OMP_NUM_THREADS", "PYTHONUNBUFFERED"}) ::unsetenv(name);
}

TEST_CASE("the session's lists of devices go where a rank has AMD devices of its own") {
  const std::vector<const char*> names{"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                       "GPU_DEVICE_ORDINAL"};
  for (const char* name : names) ::setenv(name, "1", 1);
  AgentUnderTest agent;
  auto prepare = agent.prepare(
      {"echo "
       "\"${HIP_VISIBLE_DEVICES-none},${CUDA_VISIBLE_DEVICES-none},${GPU_DEVICE_ORDINAL-none}\""});
  prepare.ranks[0].environment.push_back({.name = "ROCR_VISIBLE_DEVICES", .text = "1"});
  prepare.ranks[0].environment.push_back({.name = "HIP_VISIBLE_DEVICES", .text = "0"});
  agent.send(prepare);
  agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 4321});
  finish(agent);
  CHECK(agent.output() == "0,none,none\n");
  for (const char* name : names) ::unsetenv(name);
}

TEST_CASE("files are in the run directory, for the user alone, before a rank starts") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"cat \"$TRAIN_DATA_FILE\"; stat -c ,%a,%s \"$TRAIN_DATA_FILE\""});
  const std::string text = "{\"a\": \"" + std::string(200'000, 'x') + "\"}";
  prepare.files = {{"data.json", text}};
  prepare.ranks[0].environment.push_back(
      {.name = "TRAIN_DATA_FILE", .text = {}, .at_launch = AtLaunch::data_file});
  agent.send(prepare);
  const auto ready = agent.next<message::Ready>();
  CHECK(std::filesystem::exists(ready.run_directory + "/data.json"));
  agent.send(message::Go{"127.0.0.1", 4321});
  finish(agent);
  CHECK(agent.output() == text + ",600," + std::to_string(text.size()) + "\n");
}

TEST_CASE("a file that cannot be written keeps the host from being ready") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"true"});
  prepare.files = {{"data.json", "1"}, {"data.json", "2"}};
  agent.send(prepare);
  const auto refused = agent.next<message::Refused>();
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].message.find("data.json': file exists") != std::string::npos);
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

TEST_CASE("a stop ends the ranks with TERM, and those that ignore it with KILL") {
  AgentUnderTest agent;
  const std::string loop = "while :; do sleep 0.05; done";
  agent.start({"trap 'exit 5' TERM; touch a; " + loop, "trap '' TERM; touch b; " + loop});
  REQUIRE(has_file(agent, "a"));
  REQUIRE(has_file(agent, "b"));
  agent.send(message::Stop{std::chrono::hours(1)});
  const auto first = agent.next<message::RankEnded>();
  agent.send(message::Stop{milliseconds(300)});
  const auto second = agent.next<message::RankEnded>();
  CHECK(first.rank == 0);
  CHECK(first.code == 5);
  CHECK(first.after_stop);
  CHECK(second.signal == SIGKILL);
  CHECK(second.after_stop);
  finish(agent);
}

TEST_CASE("what a rank left in the background is gone when the agent has finished") {
  AgentUnderTest agent;
  agent.start(
      {"setsid sh -c 'touch left; sleep 1000' & "
       "while [ ! -e left ]; do sleep 0.01; done; exit 0"});
  CHECK(agent.next<message::RankEnded>().code == 0);
  const auto finished = agent.next<message::Finished>();
  CHECK(finished.survivors.empty());
  CHECK(ranks_of(agent).empty());
}

TEST_CASE("a launcher that is lost takes its ranks with it", "[waits]") {
  AgentUnderTest agent;
  agent.start({"trap '' TERM; touch up; sleep 1000; sleep 1000"});
  REQUIRE(has_file(agent, "up"));
  SECTION("when it hangs up") { agent.hang_up(); }
  SECTION("when the agent is told to end") { ::kill(agent.pid(), SIGTERM); }
  SECTION("when it stops speaking the protocol") { agent.send_bytes("GET / HTTP/1.1\r\n\r\n"); }
  SECTION("when it sends what only agents send") {
    agent.send_bytes(
        encode_frame(FrameKind::output, encode_output({1, 0, OutputStream::out, "x"})));
  }
  SECTION("when it sends a message that is none") {
    agent.send_bytes(encode_frame(FrameKind::control, "{\"type\":\"nonsense\"}"));
  }
  CHECK(agent.wait() == 0);
  CHECK(ranks_of(agent).empty());
}

TEST_CASE("what ranks say when their agent is told to end reaches the launcher") {
  AgentUnderTest agent;
  agent.start({"trap 'echo last words; exit 3' TERM; touch up; while :; do sleep 0.01; done"});
  REQUIRE(has_file(agent, "up"));
  ::kill(agent.pid(), SIGTERM);
  CHECK(agent.next<message::AgentFailed>().reason == "a signal has told it to end");
  CHECK(agent.next<message::RankEnded>().code == 3);
  finish(agent);
  CHECK(agent.output().find("last words\n") != std::string::npos);
}

TEST_CASE("after a frame that is no launcher's, nothing more is believed") {
  AgentUnderTest agent;
  agent.send_bytes(encode_frame(FrameKind::control, "nonsense") +
                   frame_of(agent.prepare({"touch started"})) + frame_of(message::Go{"::1", 1}));
  CHECK(agent.is_hung_up());
  CHECK(agent.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(agent.directory().path() + "/started"));
}

TEST_CASE("a connection that is no later one is turned away and disturbs nobody") {
  AgentUnderTest agent;
  agent.next<message::Hello>();
  const Descriptor second = agent.connect();
  SECTION("since it does not attach") { write_all(second.get(), frame_of(message::Bye{})); }
  SECTION("since it attaches as the first one did") {
    write_all(second.get(), frame_of(message::Attach{}));
  }
  CHECK(read_all(second.get()).empty());
  agent.start({"echo here"});
  CHECK(agent.next<message::RankEnded>().code == 0);
  finish(agent);
  CHECK(agent.output() == "here\n");
}

TEST_CASE("over many cuts every byte that ranks print arrives once and in order") {
  AgentUnderTest agent;
  auto prepare =
      agent.prepare({"i=0; while [ $i -lt 25 ]; do head -c 1000000 /dev/zero | tr '\\0' a; "
                     "echo $i >&2; i=$((i+1)); done",
                     "yes 0123456 | head -c 25000000"});
  prepare.reconnect_window = milliseconds(60'000);
  agent.send(prepare);
  (void)agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  std::size_t cuts = 0;
  std::size_t ends = 0;
  while (ends < 2) {
    if (agent.output().size() > (cuts + 1) * 4'000'000) {
      if (++cuts % 2 == 0) agent.hang_up();
      agent.reconnect();
      ends = 0;  // they are told again
      const auto hello = agent.next<message::Hello>();
      REQUIRE(hello.attempts.size() == 1);
      CHECK(hello.attempts[0] == message::AttemptStatus{{}, true, message::OwnStop::none});
    }
    const Message next = agent.next_message_or_output();
    if (const auto* ended = std::get_if<message::RankEnded>(&next)) {
      ++ends;
      CHECK(ended->code == 0);
    }
  }
  finish(agent);
  CHECK(cuts >= 10);
  std::string expected;
  for (int i = 0; i < 25; ++i) expected += std::string(1'000'000, 'a');
  const std::string& first = agent.output_of(0);
  CHECK(std::count(first.begin(), first.end(), 'a') == 25'000'000);
  CHECK(first.size() == 25'000'000 + 10 * 2 + 15 * 3);  // and the lines of the other stream
  std::string lines;
  while (lines.size() < 25'000'000) lines += "0123456\n";
  CHECK((agent.output_of(1) == lines));
}

TEST_CASE("an agent whose launcher is away goes on, and tells the next connection") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"touch up; while [ ! -e go ]; do sleep 0.02; done; echo done"});
  prepare.reconnect_window = milliseconds(60'000);
  agent.send(prepare);
  (void)agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  const auto started = agent.next<message::RankStarted>();
  REQUIRE(has_file(agent, "up"));
  SECTION("when the stream ended") { agent.hang_up(); }
  SECTION("when the stream became garbage") { agent.send_bytes("GET / HTTP/1.1\r\n\r\n"); }
  SECTION("when the new connection comes before the old one ends"){}(void)agent.directory().write(
      "go", "");
  agent.reconnect();
  CHECK(agent.next<message::Hello>().pid == agent.pid());
  CHECK(agent.next<message::Ready>().run_directory == agent.directory().path() + "/task-0");
  CHECK(agent.next<message::RankStarted>() == started);
  CHECK(agent.next<message::RankEnded>().code == 0);
  finish(agent);
  CHECK(agent.output() == "done\n");
}

TEST_CASE("ranks whose launcher has died are ended, although there is a window", "[waits]") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"sleep 1000"});
  prepare.reconnect_window = milliseconds(600'000);
  agent.send(prepare);
  (void)agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  (void)agent.next<message::RankStarted>();
  agent.hang_up();
  CHECK(agent.wait() == 0);
  CHECK(ranks_of(agent).empty());
}

TEST_CASE("much output waits for a launcher that acknowledges late, and none is lost") {
  AgentUnderTest agent;
  agent.start({"head -c 20000000 /dev/zero && touch written"});
  agent.next<message::RankStarted>();
  // Without acknowledgements no more than the window and one chunk comes, and the rank has to wait;
  // small chunks count for more than their bytes, so a little less may come as well.
  std::size_t held_bytes = 0;
  const auto hold = [&](const Frame& frame) {
    if (frame.kind == FrameKind::output) held_bytes += frame.payload.size();
  };
  while (held_bytes < (768u << 10)) hold(*agent.next_frame());
  agent.send(message::Ping{Instant(5)});
  std::optional<message::Pong> pong;
  while (!pong) {
    const auto frame = agent.next_frame();
    REQUIRE(frame);  // it is not stuck meanwhile
    if (frame->kind == FrameKind::output) {
      hold(*frame);
      continue;
    }
    const auto said = decode_message(frame->payload);
    REQUIRE(said);
    if (const auto* answer = std::get_if<message::Pong>(&*said)) pong = *answer;
    if (const auto* told = std::get_if<message::OutputBlocked>(&*said)) CHECK(told->is_blocked);
  }
  CHECK(pong->sent == Instant(5));
  CHECK(held_bytes < (1u << 20) + 2 * max_chunk_bytes);
  CHECK(stays([&] { return !std::filesystem::exists(agent.directory().path() + "/written"); }));
}

TEST_CASE("a launcher that goes away in the middle of much output leaves no rank and no crash") {
  AgentUnderTest agent;
  agent.start({"yes"});
  agent.next<message::RankStarted>();
  REQUIRE(agent.next_frame());
  agent.hang_up();
  CHECK(agent.wait() == 0);
  CHECK(ranks_of(agent).empty());
}

TEST_CASE("the error file of a rank that failed is told") {
  AgentUnderTest agent;
  SECTION("as it was written") {
    agent.start({"echo '{\"message\": \"boom\"}' > \"$TORCHELASTIC_ERROR_FILE\"; exit 1"});
    CHECK(agent.next<message::RankEnded>().error_file == "{\"message\": \"boom\"}\n");
  }
  SECTION("but a pipe in its place holds up nobody") {
    agent.start({"mkfifo \"$TORCHELASTIC_ERROR_FILE\"; exit 1"});
    CHECK(agent.next<message::RankEnded>().error_file.empty());
  }
  finish(agent);
}

TEST_CASE("more ranks than the soft limit of descriptors allows are started, and keep that limit") {
  AgentUnderTest agent({.soft_limit = 48});
  agent.start(std::vector<std::string>(30, "ulimit -Sn"));
  for (int i = 0; i < 30; ++i) CHECK(agent.next<message::RankEnded>().code == 0);
  finish(agent);
  std::string expected;
  for (int i = 0; i < 30; ++i) expected += "48\n";
  CHECK(agent.output() == expected);
}
