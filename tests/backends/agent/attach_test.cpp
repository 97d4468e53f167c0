// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/attach.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/wire/message.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/backends/process/traced_process.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// `reattach` looks for an agent of its key on the whole machine, also among those of a test program
// that runs beside this one.
const std::string own_key = "task-" + std::to_string(::getpid());
const std::string other_key = own_key + "-other";

// A base directory in which every agent is ended before it goes.
class Agents {
 public:
  ~Agents() {
    for (const int pid : running_with(entry())) ::kill(pid, SIGKILL);
    (void)eventually([&] { return running_with(entry()).empty(); });
  }

  std::string entry() const { return "TRAIN_TEST_BASE=" + directory_.path(); }
  const std::string& base() const { return directory_.path(); }
  std::string file(const std::string& name) const { return base() + "/" + name; }

  /// `attach` of an agent, with its first command sent.
  std::unique_ptr<PipedProgram> attach(const std::string& key, const std::string& command) const {
    auto program = attach(key);
    write_all(program->input(), command + "\n");
    return program;
  }

  /// `attach` without a command.
  std::unique_ptr<PipedProgram> attach(const std::string& key) const { return call("attach", key); }
  std::unique_ptr<PipedProgram> step(const std::string& key) const { return call("step", key); }
  std::unique_ptr<PipedProgram> reattach(const std::string& key) const {
    return call("reattach", key);
  }

 private:
  std::unique_ptr<PipedProgram> call(const std::string& verb, const std::string& key) const {
    const std::vector<std::string> command = {ATTACH_HELPER, "agent", verb, key};
    return std::make_unique<PipedProgram>(command,
                                          std::vector<std::string>{"PATH=/usr/bin:/bin", entry()});
  }

  TemporaryDirectory directory_;
};

struct Ids {
  int agent = 0;
  int guard = 0;

  bool operator==(const Ids&) const = default;
};

Ids ids_of(const Agents& agents, const std::string& key) {
  const auto program = agents.attach(key, "ids");
  std::istringstream line(read_line(program->output()));
  Ids ids;
  line >> ids.agent >> ids.guard;
  return ids;
}

// What `reattach` says where there is no agent, and nothing else.
bool is_no_agent(const std::string& said) {
  FrameDecoder decoder(FrameSender::agent);
  decoder.feed(said);
  const auto frame = decoder.next();
  if (!frame || !*frame) return false;
  const auto message = decode_message((*frame)->payload);
  return message && *message == Message(message::NoAgent{boot_id()}) && said == frame_of(*message);
}

// What it says where something of a dead agent is left that does not end.
std::optional<message::LeftBehind> left_behind_in(const std::string& said) {
  FrameDecoder decoder(FrameSender::agent);
  decoder.feed(said);
  const auto frame = decoder.next();
  if (!frame || !*frame) return std::nullopt;
  const auto message = decode_message((*frame)->payload);
  const auto* left = message ? std::get_if<message::LeftBehind>(&*message) : nullptr;
  return left == nullptr ? std::nullopt : std::optional(*left);
}

// Starts workers that try to get away, with this mark, and waits until all of them are there.
std::unique_ptr<PipedProgram> start_workers(const Agents& agents, const std::string& mark) {
  auto program = agents.attach(own_key, "workers " + mark);
  REQUIRE(read_line(program->output()) == "started");
  // Three times: a shell and what it waits for, a daemon, a shell in its own session and its two.
  constexpr std::size_t all = 18;
  const auto count = [&] { return running_with("TRAIN_TASK_ID=" + mark).size(); };
  REQUIRE(eventually([&] { return count() >= all && settled(count) == all; }));
  return program;
}

void set_fence(const Agents& agents, int milliseconds) {
  const auto program = agents.attach(own_key, "fence " + std::to_string(milliseconds));
  REQUIRE(read_line(program->output()) == "fenced");
}

bool is_clean(const Agents& agents) {
  return eventually([&] { return std::filesystem::is_empty(agents.base()); });
}

}  // namespace

TEST_CASE("the first attach starts the agent, the next ones find it") {
  const Agents agents;
  const Ids first = ids_of(agents, own_key);
  CHECK(first.agent > 0);
  CHECK(ids_of(agents, own_key) == first);
  CHECK(ids_of(agents, other_key).agent != first.agent);
  CHECK(is_running(first.guard));
  struct stat status {};
  REQUIRE(::stat(agents.file(own_key + ".sock").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("an agent that ends leaves nothing behind") {
  const Agents agents;
  const auto program = agents.attach(own_key, "quit 3");
  CHECK(read_all(program->output()).empty());
  CHECK(program->wait() == 0);  // the connection ended in order; the agent's code is its own
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("the process of a step ends after all that it has started") {
  const Agents agents;
  const auto step = agents.step(own_key);
  write_all(step->input(), "ids\n");
  std::istringstream line(read_line(step->output()));
  Ids ids;
  line >> ids.agent >> ids.guard;
  // Its connection has ended, and the agent runs.
  CHECK(ids_of(agents, own_key) == ids);
  CHECK(is_running(step->pid()));
  CHECK(agents.attach(own_key, "quit 0")->wait() == 0);
  CHECK(step->wait() == 0);
  CHECK_FALSE(is_running(ids.guard));
  CHECK(std::filesystem::is_empty(agents.base()));
}

TEST_CASE("SIGTERM to the process of a step reaches the agent, and the end its launcher") {
  const Agents agents;
  const auto step = agents.step(own_key);
  write_all(step->input(), "workers " + own_key + "\n");
  REQUIRE(read_line(step->output()) == "started");
  ::kill(step->pid(), SIGTERM);
  CHECK(step->wait() == 0);
  CHECK(std::filesystem::exists(agents.file("told")));
  CHECK(running_with("TRAIN_TASK_ID=" + own_key).empty());
}

TEST_CASE("attaches at the same moment share exactly one agent", "[once]") {
  const Agents agents;
  std::vector<std::unique_ptr<PipedProgram>> programs;
  for (int i = 0; i < 8; ++i) programs.push_back(agents.attach(own_key, "ids"));
  std::vector<std::string> answers;
  for (const auto& program : programs) {
    answers.push_back(read_line(program->output()));
    CHECK(program->wait() == 0);
  }
  CHECK(answers == std::vector<std::string>(8, answers.front()));
  CHECK_FALSE(answers.front().empty());
  CHECK(settled([&] { return running_with(agents.entry()).size(); }) == 2);
}

TEST_CASE("an attach that an ending agent accepts and does not hear finds the next one") {
  const Agents agents;
  const Ids first = ids_of(agents, own_key);
  CHECK(read_all(agents.attach(own_key, "last")->output()) == "leaving\n");
  const Ids second = ids_of(agents, own_key);
  CHECK(second.agent > 0);
  CHECK(second.agent != first.agent);
}

TEST_CASE("a reattach that an ending agent accepts and does not hear is told that there is none") {
  const Agents agents;
  CHECK(read_all(agents.attach(own_key, "last")->output()) == "leaving\n");
  const auto program = agents.reattach(own_key);
  write_all(program->input(), "ids\n");
  CHECK(is_no_agent(read_all(program->output())));
  CHECK(program->wait() == 0);
}

TEST_CASE("an agent that goes on and closes connections without a word is not asked for ever") {
  const Agents agents;
  const Ids first = ids_of(agents, own_key);
  const auto program = agents.attach(own_key, "silent");
  CHECK(read_all(program->output()).empty());
  CHECK(program->wait() == 0);
  CHECK(ids_of(agents, own_key) == first);
}

TEST_CASE("several megabytes come back as they were sent") {
  const Agents agents;
  const auto program = agents.attach(own_key, "echo");
  std::string sent(8'000'000, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 2654435761u >> 24);
  std::thread writer([&] {
    write_all(program->input(), sent);
    program->close_input();
  });
  const std::string received = read_all(program->output());
  writer.join();
  CHECK((received == sent));
  CHECK(program->wait() == 0);
}

TEST_CASE("guard and agent hold no descriptor of the connection that started them") {
  const Agents agents;
  const auto program = agents.attach(own_key, "descriptors");
  // 0 to 2, socket, lock, host directory, both ends of what the guard keeps; the helper's signals
  // and connection.
  CHECK(read_line(program->output()) == "10");
  CHECK(program->wait() == 0);
  const Ids ids = ids_of(agents, own_key);
  // The end of its output is seen although the agent runs on: what sshd waits for.
  CHECK(read_all(program->output()).empty());
  CHECK(is_running(ids.agent));
  for (const int pid : {ids.agent, ids.guard})
    for (const char* standard : {"0", "1", "2"})
      CHECK(std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + standard) ==
            "/dev/null");
  const auto guard_fds =
      std::filesystem::directory_iterator("/proc/" + std::to_string(ids.guard) + "/fd");
  CHECK(std::distance(begin(guard_fds), end(guard_fds)) ==
        6);  // 0 to 2, lock, host directory, what it keeps
}

TEST_CASE("a launcher that goes away leaves the agent running") {
  const Agents agents;
  const Ids ids = ids_of(agents, own_key);
  {
    const auto program = agents.attach(own_key, "echo");
    write_all(program->input(), "x");
    ::kill(program->pid(), SIGKILL);
    CHECK(program->wait() == -SIGKILL);
  }
  CHECK(ids_of(agents, own_key) == ids);
}

TEST_CASE("kill -9 of the agent takes the worker tree with it") {
  const Agents agents;
  const std::string task = "kill" + std::to_string(::getpid());
  const auto program = start_workers(agents, task);
  ::kill(ids_of(agents, own_key).agent, SIGKILL);
  CHECK(program->wait() == 0);
  CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).empty(); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("kill -9 of the guard is told to the agent, which cleans up itself") {
  const Agents agents;
  const std::string task = "guard" + std::to_string(::getpid());
  const auto program = start_workers(agents, task);
  ::kill(ids_of(agents, own_key).guard, SIGKILL);
  CHECK(eventually([&] { return std::filesystem::exists(agents.file("told")); }));
  CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).empty(); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  std::filesystem::remove(agents.file("told"));
  CHECK(is_clean(agents));
}

TEST_CASE("a signal to the guard reaches the agent") {
  const Agents agents;
  const int number = GENERATE(SIGTERM, SIGINT, SIGHUP);
  ::kill(ids_of(agents, own_key).guard, number);
  CHECK(eventually([&] { return std::filesystem::exists(agents.file("told")); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
}

TEST_CASE("an agent starts where one was torn away") {
  const Agents agents;
  const Ids old_ids = ids_of(agents, own_key);
  ::kill(old_ids.guard, SIGSTOP);  // it cannot clean up
  ::kill(old_ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.agent); }));
  ::kill(old_ids.guard, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.guard); }));
  CHECK(std::filesystem::exists(agents.file(own_key + ".sock")));
  const Ids new_ids = ids_of(agents, own_key);
  CHECK(new_ids.agent > 0);
  CHECK_FALSE(new_ids == old_ids);
}

TEST_CASE("an attach that comes while the guard cleans up starts a new agent") {
  const Agents agents;
  const Ids old_ids = ids_of(agents, own_key);
  ::kill(old_ids.guard, SIGSTOP);
  ::kill(old_ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.agent); }));
  const auto program = agents.attach(own_key, "ids");
  ::kill(old_ids.guard, SIGCONT);
  CHECK_FALSE(read_line(program->output()).empty());
  CHECK(program->wait() == 0);
  CHECK(eventually([&] { return !is_running(old_ids.guard); }));
  CHECK(std::filesystem::exists(agents.file(own_key + ".sock")));
}

TEST_CASE("an agent in a place where somebody else has the usual name is found by later attaches") {
  const TemporaryDirectory place;
  const std::string entry = "TRAIN_TEST_PLACE=" + place.path();
  const std::string usual = place.write("train-" + std::to_string(::geteuid()), "in the way");
  const auto start = [&] {
    const std::vector<std::string> command = {ATTACH_HELPER, "agent", "attach", own_key};
    auto program = std::make_unique<PipedProgram>(
        command, std::vector<std::string>{"PATH=/usr/bin:/bin", entry});
    write_all(program->input(), "ids\n");
    return program;
  };
  std::vector<std::unique_ptr<PipedProgram>> programs;
  for (int i = 0; i < 8; ++i) programs.push_back(start());
  const std::string first = read_line(programs.front()->output());
  CHECK_FALSE(first.empty());
  for (std::size_t i = 1; i < programs.size(); ++i)
    CHECK(read_line(programs[i]->output()) == first);
  CHECK(running_with(entry).size() >= 2);
  std::filesystem::remove(usual);  // the usual name is free now
  CHECK(read_line(start()->output()) == first);
  for (const int pid : running_with(entry)) ::kill(pid, SIGKILL);
  CHECK(eventually([&] { return running_with(entry).empty(); }));
}

TEST_CASE("an agent that lets its fence pass is killed a second later, with all that it started",
          "[waits]") {
  const Agents agents;
  const std::string mark = "fence" + std::to_string(::getpid());
  const auto program = start_workers(agents, mark);
  const Ids ids = ids_of(agents, own_key);
  const Instant begun = boot_time();
  set_fence(agents, 1'500);
  ::kill(ids.agent, SIGSTOP);
  REQUIRE(eventually([&] { return running_with("TRAIN_TASK_ID=" + mark).empty(); }));
  CHECK(boot_time() - begun >= 2'500ms);
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("an agent that moves its fence on in time is left alone", "[waits]") {
  const std::string mark = "moves" + std::to_string(::getpid());
  // Again where it took so long that the agent was not in time.
  CHECK(eventually([&] {
    const Agents agents;
    const auto program = start_workers(agents, mark);
    const Ids ids = ids_of(agents, own_key);
    const Instant begun = boot_time();
    set_fence(agents, 2'000);
    set_fence(agents, 600'000);
    const bool is_in_time = boot_time() - begun < 2s;               // waits: else it is tried again
    REQUIRE(eventually([&] { return boot_time() - begun > 4s; }));  // the first would have acted
    if (is_in_time) {
      CHECK(is_running(ids.agent));
      CHECK(settled([&] { return running_with("TRAIN_TASK_ID=" + mark).size(); }) == 18);
    }
    ::kill(ids.agent, SIGKILL);
    CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + mark).empty(); }));
    return is_in_time;
  }));
}

TEST_CASE("reattach finds the agent that runs") {
  const Agents agents;
  const Ids ids = ids_of(agents, own_key);
  const auto program = agents.reattach(own_key);
  write_all(program->input(), "ids\n");
  CHECK(read_line(program->output()) ==
        std::to_string(ids.agent) + " " + std::to_string(ids.guard));
  CHECK(program->wait() == 0);
}

TEST_CASE("reattach starts no agent, and says that there is none") {
  const Agents agents;
  SECTION("where there never was one") {}
  SECTION("where there is one of another key") { (void)ids_of(agents, other_key); }
  SECTION("where it has ended") {
    const auto program = agents.attach(own_key, "quit 0");
    CHECK(program->wait() == 0);
    REQUIRE(eventually([&] { return running_with(agents.entry()).empty(); }));
  }
  const auto count = [&] { return running_with(agents.entry()).size(); };
  const std::size_t running = settled(count);
  const auto program = agents.reattach(own_key);
  CHECK(is_no_agent(read_all(program->output())));
  CHECK(program->wait() == 0);
  CHECK(settled(count) == running);
  CHECK_FALSE(std::filesystem::exists(agents.file(own_key + ".lock")));
}

TEST_CASE("reattach waits for a guard that cleans up, and only then says that there is no agent") {
  const Agents agents;
  const std::string mark = "waits" + std::to_string(::getpid());
  const auto workers = start_workers(agents, mark);
  const Ids ids = ids_of(agents, own_key);
  ::kill(ids.guard, SIGSTOP);
  ::kill(ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(ids.agent); }));
  const auto program = agents.reattach(own_key);
  REQUIRE(eventually([&] { return is_running(program->pid()); }));
  CHECK_FALSE(running_with("TRAIN_TASK_ID=" + mark).empty());
  ::kill(ids.guard, SIGCONT);
  CHECK(is_no_agent(read_all(program->output())));
  CHECK(running_with("TRAIN_TASK_ID=" + mark).empty());
  CHECK(program->wait() == 0);
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("reattach ends what a killed agent and its killed guard have left before it says so") {
  const Agents agents;
  const std::string mark = "ends" + std::to_string(::getpid());
  const auto workers = start_workers(agents, mark);
  const Ids ids = ids_of(agents, own_key);
  ::kill(ids.guard, SIGSTOP);
  ::kill(ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(ids.agent); }));
  ::kill(ids.guard, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(ids.guard); }));
  REQUIRE_FALSE(running_with("TRAIN_TASK_ID=" + mark).empty());
  const auto program = agents.reattach(own_key);
  CHECK(is_no_agent(read_all(program->output())));
  CHECK(running_with("TRAIN_TASK_ID=" + mark).empty());
  CHECK(program->wait() == 0);
  CHECK(is_clean(agents));
}

TEST_CASE("reattach names what a killed agent has left and the kernel does not let go", "[waits]") {
  const Agents agents;
  const std::string mark = "held" + std::to_string(::getpid());
  const auto workers = start_workers(agents, mark);
  const Ids ids = ids_of(agents, own_key);
  const int worker = running_with("TRAIN_TASK_ID=" + mark).front();
  {
    const TracedProcess held(worker);
    if (!held.is_there()) SKIP_CASE("no process can be traced here");
    held.hold();
    for (const int pid : {ids.guard, ids.agent}) ::kill(pid, SIGSTOP);
    for (const int pid : {ids.agent, ids.guard}) ::kill(pid, SIGKILL);
    REQUIRE(eventually([&] { return !is_running(ids.agent) && !is_running(ids.guard); }));
    const auto program = agents.reattach(own_key);
    const auto left = left_behind_in(read_all(program->output()));
    REQUIRE(left);
    REQUIRE(left->survivors.size() == 1);
    CHECK(left->survivors.front().pid == worker);
    CHECK(left->survivors.front().uid == ::geteuid());
    CHECK(program->wait() == 0);
  }
  CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + mark).empty(); }));
}

TEST_CASE("reattach says nothing of an agent that was in another process namespace") {
  const Agents agents;
  const std::string name = agents.file(own_key + ".lock");
  std::ofstream(name) << "boot " << boot_id() << "\nnamespace pid:[1]\n";
  REQUIRE(::chmod(name.c_str(), 0600) == 0);
  const auto program = agents.reattach(own_key);
  CHECK(read_all(program->output()).empty());
  CHECK(program->wait() == 76);
  CHECK(std::filesystem::exists(name));
}

TEST_CASE("reattach leaves an agent alone whose folder this login does not see, and says so") {
  const Agents agents;
  const std::string mark = "elsewhere" + std::to_string(::getpid());
  const auto workers = start_workers(agents, mark);
  const Ids ids = ids_of(agents, own_key);
  const auto count = [&] { return running_with("TRAIN_TASK_ID=" + mark).size(); };
  const std::size_t running = settled(count);
  const Agents of_this_login;
  {
    const auto program = of_this_login.reattach(own_key);
    CHECK(read_all(program->output()).empty());
    CHECK(program->wait() == 76);
  }
  CHECK(is_running(ids.agent));
  CHECK(settled(count) == running);
  // Where it has gone in order, whoever held the other end of its connection says nothing of it.
  ::kill(ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return running_with("TRAIN_TASK_ID=" + mark).empty(); }));
  REQUIRE(eventually([&] { return is_clean(agents); }));
  const auto program = of_this_login.reattach(own_key);
  CHECK(is_no_agent(read_all(program->output())));
  CHECK(program->wait() == 0);
}

TEST_CASE("a key that is none is refused without starting anything") {
  const Agents agents;
  CHECK(agents.attach("../etc")->wait() == 76);
  CHECK(agents.reattach("../etc")->wait() == 76);
  CHECK(is_clean(agents));
}
