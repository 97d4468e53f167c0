// SPDX-License-Identifier: Apache-2.0
#include "backends/process/process_tree.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "backends/posix/proc.hpp"
#include "backends/process/spawner.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// A mark that no other test, and no other run of this one, uses.
std::string mark(const std::string& name) {
  return "TRAIN_TEST_MARK=" + name + std::to_string(::getpid());
}

// A process that runs until it is killed, with its output closed at the end of the test.
struct Started {
  explicit Started(const ProcessSpec& spec) {
    LinuxSpawner spawner;
    auto process = spawner.spawn(spec);
    if (!process) FAIL(render(process.error()));
    pid = process->pid;
    pidfd.reset(process->pidfd);
    output.reset(process->stdout_fd);
    errors.reset(process->stderr_fd);
  }
  int pid = -1;
  Descriptor pidfd;
  Descriptor output;
  Descriptor errors;
};

}  // namespace

TEST_CASE("the whole tree goes, setsid daemons that forked twice included") {
  REQUIRE(become_subreaper());
  const std::string entry = mark("daemons");
  const Started worker(
      shell("trap '' TERM HUP INT; (setsid sh -c 'sleep 1000 & setsid sleep 1000' &);"
            "setsid sh -c '(setsid sleep 1000 &) & exit' & sleep 1000",
            {entry}));
  REQUIRE(eventually([&] { return running_with(entry).size() >= 6; }));
  CHECK(kill_all_descendants(5s).empty());
  CHECK(running_with(entry).empty());
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);
}

TEST_CASE("a tree that still forks while it is killed goes as well") {
  REQUIRE(become_subreaper());
  const std::string entry = mark("forks");
  const Started worker(
      shell("bomb() { if [ $1 -gt 0 ]; then bomb $(($1 - 1)) & bomb $(($1 - 1)) & fi;"
            "sleep 1000; }; bomb 6",
            {entry}));
  REQUIRE(eventually([&] { return running_with(entry).size() >= 10; }));
  CHECK(kill_all_descendants(10s).empty());
  CHECK(running_with(entry).empty());
}

TEST_CASE("stopped processes are killed") {
  REQUIRE(become_subreaper());
  const std::string entry = mark("stopped");
  const Started worker(shell("sleep 1000 & kill -STOP $! $$", {entry}));
  REQUIRE(eventually([&] { return running_with(entry).size() == 2; }));
  CHECK(kill_all_descendants(5s).empty());
  CHECK(running_with(entry).empty());
}

TEST_CASE("kept processes and their children are spared") {
  REQUIRE(become_subreaper());
  const std::string kept_entry = mark("kept");
  const std::string other_entry = mark("other");
  const Started kept(shell("sleep 1000 & sleep 1000", {kept_entry}));
  const Started other(shell("sleep 1000 & sleep 1000", {other_entry}));
  REQUIRE(eventually([&] {
    return running_with(kept_entry).size() == 3 && running_with(other_entry).size() == 3;
  }));
  CHECK(kill_descendants([&] { return std::set{kept.pid}; }, SIGKILL).empty());
  CHECK(eventually([&] { return running_with(other_entry).empty(); }));
  CHECK(eventually([&] { return running_with(kept_entry).size() == 3; }));
  kill_all_descendants(5s);
}

TEST_CASE("a signal to a group reaches all of it and nothing else") {
  REQUIRE(become_subreaper());
  const std::string entry = mark("group");
  const Started worker(
      shell("sleep 1000 & setsid sh -c 'echo left; exec sleep 1000' & sleep 1000", {entry}));
  REQUIRE(read_line(worker.output.get()) == "left");
  REQUIRE(eventually([&] { return running_with(entry).size() == 4; }));
  CHECK(signal_group(worker.pid, SIGTERM));
  CHECK(eventually([&] { return running_with(entry).size() == 1; }));
  kill_all_descendants(5s);
  CHECK(signal_group(worker.pid, SIGTERM));  // gone: nothing to signal is no trouble
}

TEST_CASE("children that have ended are told one by one, and a worker's status is its owner's") {
  REQUIRE(become_subreaper());
  const Started worker(shell("(sh -c 'exit 3' &) ; (sh -c 'exit 4' &) ; exit 5"));
  int orphans = 0;
  std::optional<int> code;
  CHECK(eventually([&] {
    const int pid = ended_child();
    if (pid == worker.pid) {
      CHECK(ended_child() == pid);  // it is still there
      const auto status = reap(worker.pidfd.get(), Instant(7));
      code = status && *status ? (*status)->code : std::nullopt;
    } else if (pid != 0) {
      CHECK(reap_orphan(pid));
      ++orphans;
    }
    return orphans == 2 && code;
  }));
  CHECK(code == 5);
  CHECK(ended_child() == 0);
}

TEST_CASE("a process of another user is named when it cannot be killed") {
  if (::getuid() != 0) SKIP_CASE("only root can become somebody else");
  REQUIRE(become_subreaper());
  const pid_t agent = ::fork();
  if (agent == 0) {
    if (!become_subreaper()) ::_exit(1);
    const Started stranger(shell("exec sleep 1000"));
    if (!eventually([&] { return command_of(stranger.pid) == "sleep 1000"; })) ::_exit(2);
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
    const auto survivors = kill_all_descendants(50ms);
    ::_exit(survivors == std::vector<Survivor>{{stranger.pid, 0, "sleep 1000"}} ? 0 : 4);
  }
  int status = -1;
  REQUIRE(::waitpid(agent, &status, 0) == agent);
  CHECK(status == 0);
  // Not even the parent-death signal of the other user's process reached it.
  CHECK(kill_all_descendants(5s).empty());
}
