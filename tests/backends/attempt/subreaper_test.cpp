// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/subreaper.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "backends/event_loop/background.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/posix/proc.hpp"
#include "backends/process/own_processes.hpp"
#include "backends/process/spawner.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

/// A subreaper with a thread, and what it has told.
class Attempt {
 public:
  Attempt(Loop& loop, std::string name, std::shared_ptr<IdleSubreapers> idle = {})
      : loop_(loop),
        idle_(idle ? std::move(idle) : std::make_shared<IdleSubreapers>(loop)),
        mark("SUBREAPER_TEST=" + std::to_string(::getpid()) + name),
        subreaper(loop, *idle_,
                  {[this](int pid, const ExitStatus& status) { ends[pid] = status; },
                   [this](std::vector<Survivor> left) { survivors = std::move(left); }}),
        work(std::make_unique<Background>(loop)) {
    REQUIRE(subreaper.start());
  }

  /// Starts `/bin/sh -c SCRIPT` in it, bound to these CPUs.
  SpawnedProcess start(const std::string& script, const std::vector<int>& cpus = {}) {
    auto process = std::make_shared<SpawnedProcess>();
    const auto job = [process, script, cpus, mark = mark, start = subreaper.child_start()] {
      LinuxSpawner spawner({}, nullptr, start);
      ProcessSpec spec = shell(script, {mark});
      spec.cpus = cpus;
      if (auto made = spawner.spawn(spec)) *process = *made;
    };
    bool is_done = false;
    REQUIRE(work->run(job, [&] { is_done = true; }));
    REQUIRE(loop_until(loop_, [&] { return is_done; }));
    REQUIRE(process->pid > 0);
    return *process;
  }
  ExitStatus await_end(const SpawnedProcess& process) {
    REQUIRE(loop_until(loop_, [&] { return ends.contains(process.pid); }));
    return ends[process.pid];
  }
  void await_gone() {
    REQUIRE(loop_until(loop_, [&] { return survivors.has_value(); }));
  }
  bool has_any_left() const { return !running_with(mark).empty(); }
  std::size_t running() const {
    return settled([&] { return running_with(mark).size(); });
  }

 private:
  Loop& loop_;
  const std::shared_ptr<IdleSubreapers> idle_;

 public:
  const std::string mark;
  std::map<int, ExitStatus> ends;
  std::optional<std::vector<Survivor>> survivors;
  Subreaper subreaper;
  std::unique_ptr<Background> work;
};

// Leaves every session, parent and pipe of its rank, and says its number.
std::string daemon() { return "(setsid sleep 1000 >&- 2>&- <&- &); "; }

}  // namespace

TEST_CASE("what a subreaper starts is below a process of its own, which tells how it ends") {
  Loop loop;
  auto idle = std::make_shared<IdleSubreapers>(loop);
  Attempt attempt(loop, "a", idle);
  const Instant began = boot_time();
  const auto first = attempt.start("exit 7");
  CHECK(attempt.await_end(first).code == 7);
  const auto second = attempt.start("kill -TERM $$");
  const ExitStatus status = attempt.await_end(second);
  CHECK(status.signal == SIGTERM);
  CHECK(status.at >= began);
  CHECK(status.at <= boot_time());
  const auto third = attempt.start("exec sleep 1000");
  const int process = parent_of(third.pid).value_or(0);
  CHECK(process != ::getpid());
  CHECK(parent_of(process) == ::getpid());
  attempt.subreaper.signal_rank(third.pid, SIGINT);
  CHECK(attempt.await_end(third).signal == SIGINT);
  attempt.subreaper.kill();
  attempt.await_gone();
  CHECK(attempt.survivors->empty());
  attempt.work.reset();
  CHECK(is_running(process));
  (void)idle->take();  // and closed
  CHECK(eventually([&] { return !is_running(process); }));
}

TEST_CASE("what a subreaper starts runs on the CPUs that it is given, and it alone") {
  Loop loop;
  Attempt attempt(loop, "cpus");
  const int here = ::sched_getcpu();
  REQUIRE(here >= 0);
  const std::string list = "grep -q '^Cpus_allowed_list:\t" + std::to_string(here) + "$' /proc/";
  CHECK(attempt.await_end(attempt.start(list + "self/status", {here})).code == 0);
  cpu_set_t all;
  CPU_ZERO(&all);
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  const int expected = CPU_COUNT(&all) == 1 ? 0 : 1;
  CHECK(attempt.await_end(attempt.start(list + "$PPID/status")).code == expected);
}

TEST_CASE("the process of an attempt that is over serves the next one, and that one alone") {
  Loop loop;
  const auto idle = std::make_shared<IdleSubreapers>(loop);
  Attempt first(loop, "first", idle);
  const int process = parent_of(first.start(daemon() + "exec sleep 1000").pid).value_or(0);
  REQUIRE(process > 0);
  const StartChild late = first.subreaper.child_start();
  first.subreaper.kill();
  first.await_gone();
  CHECK_FALSE(first.has_any_left());
  Attempt second(loop, "second", idle);
  const auto rank = second.start(daemon() + "exec sleep 1000");
  CHECK(parent_of(rank.pid) == process);
  Attempt beside(loop, "beside", idle);
  const auto other = beside.start("exec sleep 1000");
  CHECK(parent_of(other.pid) != process);
  // What the first still says and asks is nothing to the second.
  first.subreaper.signal_rank(rank.pid, SIGKILL);
  first.subreaper.kill();
  const ProcessSpec sleeper = shell("exec sleep 1000");
  const auto refused = late({sleeper, STDOUT_FILENO, STDERR_FILENO});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().diagnostics[0].message == "its attempt was ended before it was started");
  second.subreaper.signal_rank(rank.pid, SIGTERM);
  CHECK(second.await_end(rank).signal == SIGTERM);
  for (Attempt* each : {&second, &beside}) {
    each->subreaper.kill();
    each->await_gone();
    CHECK_FALSE(each->has_any_left());
  }
}

TEST_CASE("a process that was killed while it was idle serves nobody") {
  Loop loop;
  const auto idle = std::make_shared<IdleSubreapers>(loop);
  Attempt first(loop, "first", idle);
  const int process = parent_of(first.start("exec sleep 1000").pid).value_or(0);
  REQUIRE(process > 0);
  first.subreaper.kill();
  first.await_gone();
  ::kill(process, SIGKILL);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) == 0);
  const auto is_collected = [&] { return !parent_of(process); };
  if (GENERATE(false, true))  // known, or not yet
    REQUIRE(loop_until(loop, is_collected));
  Attempt second(loop, "second", idle);
  const auto rank = second.start("exit 3");
  CHECK(second.await_end(rank).code == 3);
  CHECK(is_collected());
}

TEST_CASE("a process that all of an attempt is gone from starts no more of its ranks") {
  auto process = start_subreaper_process();
  REQUIRE(process);
  SubreaperTalk talk(std::move(process->talk));
  const auto ask = [&](std::uint32_t attempt) {
    const ProcessSpec spec = shell("exec sleep 1000");
    const auto answer =
        ask_for_child(process->starts.get(), {spec, STDOUT_FILENO, STDERR_FILENO}, attempt);
    REQUIRE(answer);
    REQUIRE(*answer);
    return (*answer)->child.pid;
  };
  CHECK(ask(0) > 0);
  talk.send(SubreaperCommand{SubreaperCommand::Kind::kill_all});
  REQUIRE(eventually([&] {
    const auto news = talk.receive_news();
    return news && news->kind == SubreaperNews::Kind::gone;
  }));
  CHECK(ask(0) <= 0);
  CHECK(ask(1) > 0);
  talk.send(SubreaperCommand{SubreaperCommand::Kind::kill_all});
  talk.take_socket().reset();
  CHECK(eventually([&] { return has_ended(process->pidfd); }));
}

TEST_CASE("one is killed whole, and another one lives on") {
  Loop loop;
  Attempt one(loop, "one");
  Attempt other(loop, "other");
  const auto killed = one.start(daemon() + "exec sleep 1000");
  const auto spared = other.start(daemon() + "exec sleep 1000");
  REQUIRE(eventually(
      [&] { return running_with(one.mark).size() == 2 && running_with(other.mark).size() == 2; }));
  one.subreaper.kill();
  one.await_gone();
  CHECK(one.ends[killed.pid].signal == SIGKILL);
  CHECK_FALSE(one.has_any_left());
  CHECK(other.running() == 2);
  CHECK(is_running(spared.pid));
  other.subreaper.kill();
  other.await_gone();
  CHECK_FALSE(other.has_any_left());
}

TEST_CASE("what a rank left in the background is killed after its end") {
  Loop loop;
  Attempt attempt(loop, "left");
  const auto rank = attempt.start(daemon() + "true");
  CHECK(attempt.await_end(rank).code == 0);
  attempt.subreaper.kill();
  attempt.await_gone();
  CHECK_FALSE(attempt.has_any_left());
}

TEST_CASE("a subreaper that is killed takes all below it along, and nothing else") {
  REQUIRE(become_subreaper());  // as an agent is
  Loop loop;
  Attempt one(loop, "killed");
  Attempt other(loop, "bystander");
  const auto rank = one.start(daemon() + "exec sleep 1000");
  (void)other.start(daemon() + "exec sleep 1000");
  REQUIRE(eventually(
      [&] { return running_with(one.mark).size() == 2 && running_with(other.mark).size() == 2; }));
  ::kill(*parent_of(rank.pid), SIGKILL);
  one.await_gone();
  CHECK(one.subreaper.was_killed());
  CHECK(one.survivors->empty());
  CHECK(one.ends[rank.pid].signal == SIGKILL);
  CHECK_FALSE(one.has_any_left());
  CHECK(other.running() == 2);
  other.subreaper.kill();
  other.await_gone();
}

TEST_CASE("a subreaper that somebody has stopped goes on when it is told something") {
  Loop loop;
  Attempt attempt(loop, "stopped");
  const auto rank = attempt.start(daemon() + "exec sleep 1000");
  REQUIRE(eventually([&] { return running_with(attempt.mark).size() == 2; }));
  ::kill(*parent_of(rank.pid), SIGSTOP);
  attempt.subreaper.kill();
  attempt.await_gone();
  CHECK(attempt.ends[rank.pid].signal == SIGKILL);
  CHECK_FALSE(attempt.subreaper.was_killed());
  CHECK_FALSE(attempt.has_any_left());
}

TEST_CASE("below a subreaper that does not answer all dies when it is killed") {
  REQUIRE(become_subreaper());
  Loop loop;
  Attempt attempt(loop, "silent");
  const auto rank = attempt.start(daemon() + "exec sleep 1000");
  REQUIRE(eventually([&] { return running_with(attempt.mark).size() == 2; }));
  ::kill(*parent_of(rank.pid), SIGSTOP);
  attempt.subreaper.kill_process();
  attempt.await_gone();
  CHECK(attempt.subreaper.was_killed());
  CHECK(attempt.ends[rank.pid].signal == SIGKILL);
  CHECK_FALSE(attempt.has_any_left());
}

TEST_CASE("how a subreaper has ended is told in words") {
  const auto words = [](std::optional<int> code, std::optional<int> signal) {
    return words_of_subreaper_end({.code = code, .signal = signal});
  };
  CHECK(words({}, SIGKILL) == "was killed by SIGKILL");
  CHECK(words({}, {}) == "was killed");
  CHECK(words(70, {}) == "has ended with code 70");
  CHECK(words(71, {}).starts_with("could have no thread"));
  CHECK(words(72, {}) == "is out of memory");
  CHECK(words(73, {}).starts_with("could have no file descriptor: "));
}

TEST_CASE("a new attempt is begun while what another one left is looked for") {
  REQUIRE(become_subreaper());
  Loop loop;
  Attempt one(loop, "left behind");
  const auto rank = one.start(daemon() + "exec sleep 1000");
  REQUIRE(eventually([&] { return running_with(one.mark).size() == 2; }));
  ::kill(*parent_of(rank.pid), SIGKILL);
  // Made while the first one is cleaned up after: none of these may be taken for a part of it.
  std::vector<std::unique_ptr<Attempt>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<Attempt>(loop, "new" + std::to_string(i)));
    (void)others.back()->start("exec sleep 1000");
  }
  one.await_gone();
  CHECK_FALSE(one.has_any_left());
  for (const auto& other : others) {
    CHECK(other->running() == 1);
    CHECK_FALSE(other->subreaper.was_killed());
    other->subreaper.kill();
    other->await_gone();
  }
}

TEST_CASE("a subreaper whose owner goes leaves nothing") {
  Loop loop;
  std::string mark;
  {
    Attempt attempt(loop, "owner");
    mark = attempt.mark;
    (void)attempt.start(daemon() + "exec sleep 1000");
  }
  CHECK(eventually([&] { return running_with(mark).empty(); }));
}

TEST_CASE("processes of the agent itself are not among what a killed subreaper has left") {
  Loop loop;
  Result<ConnectedProcess> own;
  start_own_process([&] {
    own = start_connected({.program = "/bin/sh",
                           .arguments = {"sh", "-c", "exec sleep 1000"},
                           .environment = environment_texts()});
    return own ? own->pid : -1;
  });
  REQUIRE(own);
  CHECK(own_processes().contains(own->pid));
  {
    Attempt attempt(loop, "own");
    (void)attempt.start("exec sleep 1000");
    attempt.subreaper.kill_process();
    attempt.await_gone();
    CHECK(attempt.survivors->empty());
    CHECK_FALSE(attempt.has_any_left());
  }
  CHECK_FALSE(has_ended(own->pidfd));
  REQUIRE(::kill(own->pid, SIGKILL) == 0);
  REQUIRE(eventually([&] { return has_ended(own->pidfd); }));
  collect_own_process(own->pid);
  CHECK_FALSE(own_processes().contains(own->pid));
  CHECK_FALSE(status_of(own->pid));
}
