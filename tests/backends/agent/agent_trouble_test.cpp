// SPDX-License-Identifier: Apache-2.0
// Agents on hosts with troubles: dead file systems, reached limits, other users, exceptions.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/posix/proc.hpp"
#include "backends/process/process_tree.hpp"
#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/backends/process/hung_mount.hpp"
#include "tests/backends/process/port_server.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* wait_for_go = "while [ ! -e go ]; do sleep 0.02; done; ";

enum class Throws { in_making, in_find, in_tidy, twice, on_thread };

// A store of contexts that throws where the agent expects nothing.
class ThrowingStore final : public ContextStore {
 public:
  ThrowingStore(Loop& loop, Throws where) : loop_(loop), where_(where) {}

  void find(const Context&, ContextEvents events) override {
    if (where_ == Throws::in_find) throw std::bad_alloc();
    loop_.post([events] { events.on_ready("/"); });
  }
  void take(std::string_view) override {}
  void keep() override {}
  void tidy() override {
    if (where_ == Throws::on_thread)
      std::thread([] { throw std::runtime_error("nobody catches this"); }).detach();
    if (where_ == Throws::twice) loop_.post([] { throw std::runtime_error("and once more"); });
    if (where_ == Throws::in_tidy || where_ == Throws::twice)
      throw std::system_error(EAGAIN, std::generic_category(), "cannot start a thread");
  }

 private:
  Loop& loop_;
  Throws where_;
};

AgentSetup that_throws(Throws where) {
  AgentSetup setup;
  setup.make_contexts = [where](Loop& loop) -> std::unique_ptr<ContextStore> {
    if (where == Throws::in_making) throw std::runtime_error("no loop today");
    return std::make_unique<ThrowingStore>(loop, where);
  };
  return setup;
}

message::Refused refusal_of(AgentUnderTest& agent, int ranks) {
  agent.send(agent.prepare(std::vector<std::string>(static_cast<std::size_t>(ranks), "touch up")));
  auto refused = agent.next<message::Refused>();
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(agent.directory().path() + "/up"));
  return refused;
}

}  // namespace

TEST_CASE("another user cannot take a held port before the start, and is found when it does then") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  AgentUnderTest agent;
  auto prepare = agent.prepare({std::string(wait_for_go) + "exit 98"});
  prepare.hold_ports = 1;
  agent.send(prepare);
  const int port = agent.next<message::Ready>().held_ports.at(0);
  const auto number = static_cast<std::uint16_t>(port);
  CHECK_FALSE(OtherUser(AF_INET, number).listens());
  CHECK_FALSE(OtherUser(AF_INET6, number).listens());
  agent.send(message::Go{"127.0.0.1", port});
  (void)agent.next<message::RankStarted>();
  SECTION("while the ranks run") {
    const OtherUser thief(AF_INET6, number);
    REQUIRE(thief.listens());
    CHECK(agent.next<message::PortTaken>() == message::PortTaken{port, OtherUser::uid});
  }
  SECTION("when a rank fails of it: before its end is told") {
    const OtherUser thief(AF_INET, number);
    REQUIRE(thief.listens());
    (void)agent.directory().write("go", "");
    CHECK(agent.next<message::PortTaken>() == message::PortTaken{port, OtherUser::uid});
    CHECK(agent.next<message::RankEnded>().code == 98);
  }
  SECTION("but a server of its own user is what the port is for") {
    const Descriptor own = listen_on(AF_INET, number, Reuse::yes);
    REQUIRE(own);
    (void)agent.directory().write("go", "");
    const auto next = agent.next_of<message::PortTaken, message::RankEnded>();
    CHECK(std::holds_alternative<message::RankEnded>(next));
  }
}

TEST_CASE("an exception in the agent is told, and the ranks are stopped as always") {
  AgentUnderTest agent(that_throws(Throws::in_tidy));
  agent.start({"sleep 1000"});
  const auto failed = agent.next<message::AgentFailed>();
  CHECK(failed.reason.find("cannot start a thread") == 0);
  agent.send(message::Ping{Instant(7)});
  CHECK(agent.next<message::RankEnded>().after_stop);
  CHECK(agent.next<message::Finished>().survivors.empty());
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
  CHECK(running_with("TEST_DIRECTORY=" + agent.directory().path()).empty());
}

TEST_CASE("an agent that is out of memory says so before any rank starts") {
  AgentUnderTest agent(that_throws(Throws::in_find));
  auto prepare = agent.prepare({"touch up"});
  prepare.context = {std::string(64, 'a'), 1};
  agent.send(prepare);
  CHECK(agent.next<message::AgentFailed>().reason == "it is out of memory");
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

TEST_CASE("an agent that cannot go on says why before it ends") {
  const auto where = GENERATE(Throws::in_making, Throws::twice, Throws::on_thread);
  AgentUnderTest agent(that_throws(where));
  if (where != Throws::in_making) agent.start({"sleep 1000"});
  const auto failed = agent.next<message::AgentFailed>();
  if (where == Throws::in_making) CHECK(failed.reason == "no loop today");
  if (where == Throws::on_thread) CHECK(failed.reason == "nobody catches this");
  CHECK(agent.is_hung_up());
  CHECK(agent.wait() == 70);
}

TEST_CASE("more ranks than there are descriptors for are refused with the numbers") {
  AgentUnderTest agent({.hard_limit = 60});
  const auto refused = refusal_of(agent, 16);
  CHECK(refused.error_class == ErrorClass::host);
  REQUIRE(refused.problems.size() == 1);
  const std::string& said = refused.problems[0].message;
  INFO(said);
  CHECK(said.find("its 16 ranks take 56 descriptors of the agent, but the agent has ") == 0);
  CHECK(said.find(" of at most 60 (open files, ulimit -Hn)") != said.npos);
}

TEST_CASE("more ranks than the user may have processes are refused with the numbers") {
  if (::geteuid() != 0) SKIP_CASE("only root can become a user with a limit of its own");
  AgentUnderTest agent({.processes = 8, .user = OtherUser::uid});
  const auto refused = refusal_of(agent, 16);
  CHECK(refused.error_class == ErrorClass::host);
  REQUIRE(refused.problems.size() == 1);
  const std::string& said = refused.problems[0].message;
  INFO(said);
  CHECK(said.find("its 16 ranks take 19 processes and threads, but user 12345 has ") == 0);
  CHECK(said.find(" of at most 8 (processes, ulimit -u)") != said.npos);
}

TEST_CASE("what ranks lack counts for more than what the host lacks, and both are said") {
  AgentUnderTest agent({.hard_limit = 60});
  auto prepare = agent.prepare(std::vector<std::string>(16, "true"));
  prepare.ranks[3].working_directory = "/nowhere/at/all";
  agent.send(prepare);
  const auto refused = agent.next<message::Refused>();
  CHECK(refused.error_class == ErrorClass::missing);
  CHECK(refused.problems.size() == 2);
}

TEST_CASE("a script that is not there is told of all ranks before any of them starts") {
  AgentUnderTest agent;
  auto prepare = agent.prepare(std::vector<std::string>(4, "touch up"));
  prepare.ranks[1].entrypoint = prepare.ranks[2].entrypoint = {{}, {"/bin/sh", "absent.sh"}};
  prepare.ranks[3].entrypoint = {"sh absent.sh", {}};
  agent.send(prepare);
  const auto refused = agent.next<message::Refused>();
  CHECK(refused.error_class == ErrorClass::missing);
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].message.ends_with("/absent.sh': no such file"));
  CHECK(refused.problems[0].hint.find("--context sends") != std::string::npos);
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(agent.directory().path() + "/up"));
}

TEST_CASE("a dead file system is named while the agent waits for it, and pings are answered",
          "[waits]") {
  AgentUnderTest agent;
  HungMount hung(agent.directory().path() + "/hung");
  if (!hung.is_there()) SKIP_CASE("nothing can be mounted here");
  auto prepare = agent.prepare({"true"});
  prepare.ranks[0].working_directory = hung.path();
  agent.send(prepare);
  agent.send(message::Ping{Instant(5)});
  CHECK(agent.next<message::Pong>().sent == Instant(5));
  const auto blocked = agent.next<message::Blocked>();
  CHECK(blocked.what == "stat of '" + hung.path() + "'");
  CHECK(blocked.so_far >= 2s);
  CHECK(agent.next<message::Blocked>().so_far >= 4s);
  agent.send(message::Ping{Instant(6)});
  CHECK(agent.next<message::Pong>().sent == Instant(6));
  SECTION("until it fails, which is the host's fault") {
    hung.break_off();
    CHECK(agent.next<message::Refused>().error_class == ErrorClass::host);
  }
  SECTION("until the launcher has waited long enough") {
    agent.send(message::Bye{});
    CHECK(agent.is_hung_up());
  }
}

TEST_CASE("a stop waits for the check of its host, and names a check that does not end",
          "[waits]") {
  AgentUnderTest agent;
  HungMount hung(agent.directory().path() + "/hung");
  if (!hung.is_there()) SKIP_CASE("nothing can be mounted here");
  auto prepare = agent.prepare({"true"});
  const std::string directory = std::exchange(prepare.ranks[0].working_directory, hung.path());
  agent.send(prepare);
  (void)agent.next<message::Blocked>();
  agent.send(message::Stop{});
  SECTION("that comes back") {
    agent.send(message::Ping{Instant(5)});
    CHECK(agent.next<message::Pong>().sent == Instant(5));
    hung.break_off();
    CHECK(agent.next<message::Finished>().survivors.empty());
    prepare.of.attempt = 1;
    prepare.ranks[0].working_directory = directory;
    agent.send(prepare);
    CHECK(agent.next<message::Ready>().of == prepare.of);
  }
  SECTION("that does not") {
    const auto finished = agent.next<message::Finished>();
    REQUIRE(finished.survivors.size() == 1);
    CHECK(finished.survivors[0].pid == agent.pid());
    CHECK(finished.survivors[0].command == "the agent, in stat of '" + hung.path() + "'");
  }
  agent.send(message::Bye{});
  CHECK(agent.is_hung_up());
}

TEST_CASE("a file system that dies between check and start holds up no stop", "[waits]") {
  AgentUnderTest agent;
  auto prepare = agent.prepare({"sleep 1000", "true"});
  const std::string directory = agent.directory().path() + "/hung";
  std::filesystem::create_directory(directory);
  prepare.ranks[1].working_directory = directory;
  agent.send(prepare);
  agent.next<message::Ready>();
  const HungMount hung(directory);
  if (!hung.is_there()) SKIP_CASE("nothing can be mounted here");
  agent.send(message::Go{"127.0.0.1", 1});
  CHECK(agent.next<message::RankStarted>().rank == 0);
  CHECK(agent.next<message::Blocked>().what.find(directory) != std::string::npos);
  agent.send(message::Stop{100ms});
  CHECK(agent.next<message::RankEnded>().rank == 0);
  CHECK(agent.next<message::Finished>().survivors.empty());
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

TEST_CASE("an error file on a dead file system is not waited for") {
  AgentUnderTest agent;
  const HungMount hung(agent.directory().path() + "/hung");
  if (!hung.is_there()) SKIP_CASE("nothing can be mounted here");
  agent.start({"ln -s hung/file \"$TORCHELASTIC_ERROR_FILE\"; exit 3", "exit 4"});
  for (int i = 0; i < 2; ++i) CHECK(agent.next<message::RankEnded>().error_file.empty());
  agent.next<message::Finished>();
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}

TEST_CASE("a rank that starts while no output is read waits with its own as well") {
  AgentUnderTest agent;
  agent.start({"head -c 20000000 /dev/zero", std::string(wait_for_go) + "echo $$ > up; " +
                                                 "head -c 20000000 /dev/zero; touch done"});
  // The first has filled most of the window before the second is there.
  std::size_t held = 0;
  while (held < (768u << 10)) held += agent.next_frame()->payload.size();
  (void)agent.directory().write("go", "");
  (void)process_in(agent, "up");
  agent.send(message::Ping{Instant(5)});
  while (true) {
    const auto frame = agent.next_frame();
    REQUIRE(frame);
    if (frame->kind == FrameKind::control &&
        std::holds_alternative<message::Pong>(*decode_message(frame->payload)))
      break;
    held += frame->payload.size();
  }
  CHECK(held < (1u << 20) + 4 * max_chunk_bytes);
  CHECK(stays([&] { return !std::filesystem::exists(agent.directory().path() + "/done"); }));
}

namespace {

std::uint64_t memory_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t pages = 0;
  (void)(file >> pages >> pages);  // the second number: what is resident
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("a rank that cannot be killed and prints for ever neither fills the memory nor goes on",
          "[waits]") {
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  AgentUnderTest agent({.may_kill_any_user = false, .credit = 1});
  auto prepare = agent.prepare({"exec setpriv --reuid=12345 --clear-groups cat /dev/zero"});
  prepare.reconnect_window = milliseconds(60'000);
  prepare.spool.drops = GENERATE(false, true);
  agent.send(prepare);
  (void)agent.next<message::Ready>();
  agent.send(message::Go{"127.0.0.1", 1});
  const int rank = static_cast<int>(agent.next<message::RankStarted>().pid);
  REQUIRE(eventually([&] { return command_of(rank) == "cat /dev/zero"; }));
  agent.send(message::Stop{0s});
  // Until nothing is tried any more; then the agent is what adopts it.
  const std::uint64_t before = memory_of(agent.pid());  // with what it has of these tests
  std::uint64_t most = before;
  REQUIRE(eventually(
      [&] {
        most = std::max(most, memory_of(agent.pid()));
        return !is_running(rank) || parent_of(rank) == agent.pid();
      },
      30s));
  CHECK(most < before + (32u << 20));
  agent.reconnect();
  const auto finished = agent.next<message::Finished>();
  REQUIRE(finished.survivors.size() == 1);
  CHECK(finished.survivors[0].uid == 12'345);
  CHECK(agent.output().size() < (16u << 20));
  CHECK(eventually([&] { return !is_running(rank); }));  // nobody reads what it prints
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
}
