// SPDX-License-Identifier: Apache-2.0
#include "backends/process/attach.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>
#include <thread>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

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
  std::unique_ptr<PipedProgram> attach(const std::string& key) const {
    const std::vector<std::string> command = {ATTACH_HELPER, "agent", "attach", key};
    return std::make_unique<PipedProgram>(command,
                                          std::vector<std::string>{"PATH=/usr/bin:/bin", entry()});
  }

 private:
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

bool is_clean(const Agents& agents) {
  return eventually([&] { return std::filesystem::is_empty(agents.base()); });
}

}  // namespace

TEST_CASE("the first attach starts the agent, the next ones find it") {
  const Agents agents;
  const Ids first = ids_of(agents, "task-0");
  CHECK(first.agent > 0);
  CHECK(ids_of(agents, "task-0") == first);
  CHECK(ids_of(agents, "task-1").agent != first.agent);
  CHECK(is_running(first.guard));
  struct stat status {};
  REQUIRE(::stat(agents.file("task-0.sock").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("an agent that ends leaves nothing behind") {
  const Agents agents;
  const auto program = agents.attach("task-0", "quit 3");
  CHECK(read_all(program->output()).empty());
  CHECK(program->wait() == 0);  // the connection ended in order; the agent's code is its own
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("attaches at the same moment share exactly one agent") {
  const Agents agents;
  std::vector<std::unique_ptr<PipedProgram>> programs;
  for (int i = 0; i < 8; ++i) programs.push_back(agents.attach("task-0", "ids"));
  std::vector<std::string> answers;
  for (const auto& program : programs) {
    answers.push_back(read_line(program->output()));
    CHECK(program->wait() == 0);
  }
  CHECK(answers == std::vector<std::string>(8, answers.front()));
  CHECK_FALSE(answers.front().empty());
  CHECK(running_with(agents.entry()).size() == 2);
}

TEST_CASE("several megabytes come back as they were sent") {
  const Agents agents;
  const auto program = agents.attach("task-0", "echo");
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
  const auto program = agents.attach("task-0", "descriptors");
  // 0 to 2, socket, lock, host directory; the helper's signals and connection.
  CHECK(read_line(program->output()) == "8");
  CHECK(program->wait() == 0);
  const Ids ids = ids_of(agents, "task-0");
  // The end of its output is seen although the agent runs on: what sshd waits for.
  CHECK(read_all(program->output()).empty());
  CHECK(is_running(ids.agent));
  for (const int pid : {ids.agent, ids.guard})
    for (const char* standard : {"0", "1", "2"})
      CHECK(std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + standard) ==
            "/dev/null");
  const auto guard_fds =
      std::filesystem::directory_iterator("/proc/" + std::to_string(ids.guard) + "/fd");
  CHECK(std::distance(begin(guard_fds), end(guard_fds)) == 5);  // 0 to 2, lock, host directory
}

TEST_CASE("a launcher that goes away leaves the agent running") {
  const Agents agents;
  const Ids ids = ids_of(agents, "task-0");
  {
    const auto program = agents.attach("task-0", "echo");
    write_all(program->input(), "x");
    ::kill(program->pid(), SIGKILL);
    CHECK(program->wait() == -SIGKILL);
  }
  CHECK(ids_of(agents, "task-0") == ids);
}

TEST_CASE("kill -9 of the agent takes the worker tree with it") {
  const Agents agents;
  const std::string task = "kill" + std::to_string(::getpid());
  const auto program = agents.attach("task-0", "workers " + task);
  REQUIRE(read_line(program->output()) == "started");
  REQUIRE(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).size() >= 15; }));
  ::kill(ids_of(agents, "task-0").agent, SIGKILL);
  CHECK(program->wait() == 0);
  CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).empty(); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  CHECK(is_clean(agents));
}

TEST_CASE("kill -9 of the guard is told to the agent, which cleans up itself") {
  const Agents agents;
  const std::string task = "guard" + std::to_string(::getpid());
  const auto program = agents.attach("task-0", "workers " + task);
  REQUIRE(read_line(program->output()) == "started");
  REQUIRE(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).size() >= 15; }));
  ::kill(ids_of(agents, "task-0").guard, SIGKILL);
  CHECK(eventually([&] { return std::filesystem::exists(agents.file("told")); }));
  CHECK(eventually([&] { return running_with("TRAIN_TASK_ID=" + task).empty(); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
  std::filesystem::remove(agents.file("told"));
  CHECK(is_clean(agents));
}

TEST_CASE("a signal to the guard reaches the agent") {
  const Agents agents;
  const int number = GENERATE(SIGTERM, SIGINT, SIGHUP);
  ::kill(ids_of(agents, "task-0").guard, number);
  CHECK(eventually([&] { return std::filesystem::exists(agents.file("told")); }));
  CHECK(eventually([&] { return running_with(agents.entry()).empty(); }));
}

TEST_CASE("an agent starts where one was torn away") {
  const Agents agents;
  const Ids old_ids = ids_of(agents, "task-0");
  ::kill(old_ids.guard, SIGSTOP);  // it cannot clean up
  ::kill(old_ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.agent); }));
  ::kill(old_ids.guard, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.guard); }));
  CHECK(std::filesystem::exists(agents.file("task-0.sock")));
  const Ids new_ids = ids_of(agents, "task-0");
  CHECK(new_ids.agent > 0);
  CHECK_FALSE(new_ids == old_ids);
}

TEST_CASE("an attach that comes while the guard cleans up starts a new agent") {
  const Agents agents;
  const Ids old_ids = ids_of(agents, "task-0");
  ::kill(old_ids.guard, SIGSTOP);
  ::kill(old_ids.agent, SIGKILL);
  REQUIRE(eventually([&] { return !is_running(old_ids.agent); }));
  const auto program = agents.attach("task-0", "ids");
  ::kill(old_ids.guard, SIGCONT);
  CHECK_FALSE(read_line(program->output()).empty());
  CHECK(program->wait() == 0);
  CHECK(eventually([&] { return !is_running(old_ids.guard); }));
  CHECK(std::filesystem::exists(agents.file("task-0.sock")));
}

TEST_CASE("an agent in a place where somebody else has the usual name is found by later attaches") {
  const TemporaryDirectory place;
  const std::string entry = "TRAIN_TEST_PLACE=" + place.path();
  const std::string usual = place.write("train-" + std::to_string(::geteuid()), "in the way");
  const auto start = [&] {
    const std::vector<std::string> command = {ATTACH_HELPER, "agent", "attach", "task-0"};
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

TEST_CASE("a key that is none is refused without starting anything") {
  const Agents agents;
  const auto program = agents.attach("../etc");
  CHECK(program->wait() == 76);
  CHECK(is_clean(agents));
}
