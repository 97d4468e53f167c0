// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "backends/posix/proc.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace train::testing;

namespace {

StartedChild shell(const std::string& script, const std::vector<int>& cpus = {}) {
  const auto null = open_null();
  REQUIRE(null);
  const std::string program = "/bin/sh";
  const std::string directory = "/";
  const std::vector<std::string> arguments = {"sh", "-c", script};
  ChildSetup setup(program, arguments, {}, directory);
  for (int& standard : setup.standard) standard = null->get();
  setup.cpus = cpu_mask(cpus);
  return start_child(setup);
}

}  // namespace

TEST_CASE("a child is collected once, with what it ended with") {
  const StartedChild child = shell("exit 7");
  REQUIRE(child.failed == ChildStep::none);
  REQUIRE(eventually([&] { return has_ended(child.pidfd); }));
  const auto status = reap(child.pidfd.get(), Instant(5));
  REQUIRE(status);
  CHECK((*status)->code == 7);
  CHECK((*status)->at == Instant(5));
  CHECK_FALSE(reap(child.pidfd.get(), {}));
  CHECK_FALSE(has_child());
}

TEST_CASE("of a child that has ended it is known what it has used, with those that it waited for") {
  const std::string grow = "s=xxxxxxxxxxxxxxxx; while [ ${#s} -lt 8000000 ]; do s=$s$s; done; ";
  const StartedChild child =
      shell("(" + grow + "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done)");
  REQUIRE(child.failed == ChildStep::none);
  const ExitStatus status = wait_for_child(child.pid);
  CHECK(status.code == 0);
  CHECK(status.cpu > milliseconds(5));
  CHECK(status.cpu < std::chrono::seconds(60));
  CHECK(status.largest_memory > 8'000'000);
  CHECK(status.largest_memory < std::uint64_t{1} << 32);
}

TEST_CASE("a child that runs is not waited for, unless that is asked for") {
  const StartedChild child = shell("exec sleep 60");
  REQUIRE(child.failed == ChildStep::none);
  CHECK_FALSE(has_ended(child.pidfd));
  const auto status = reap(child.pidfd.get(), {});
  REQUIRE(status);
  CHECK_FALSE(*status);
  CHECK(send_signal(child.pidfd, SIGKILL) == 0);
  CHECK(wait_for_child(child.pid).signal == SIGKILL);
  CHECK(wait_for_child(child.pid) == ExitStatus{});  // nobody's child any more
}

TEST_CASE("a child runs on the CPUs that it was given, with all that it starts") {
  const int here = ::sched_getcpu();
  REQUIRE(here >= 0);
  const std::string list = "^Cpus_allowed_list:\t" + std::to_string(here) + "$";
  const StartedChild child = shell("grep -q '" + list + "' /proc/self/status", {here});
  REQUIRE(child.failed == ChildStep::none);
  CHECK(wait_for_child(child.pid).code == 0);
}

TEST_CASE("a child that cannot be bound does not start") {
  const StartedChild child = shell("exit 0", {8'191});
  CHECK(child.failed == ChildStep::affinity);
  CHECK(child.error == EINVAL);
  CHECK_FALSE(has_child());
}

TEST_CASE("a mask has a bit for each CPU") {
  CHECK(cpu_mask({}).empty());
  CHECK(cpu_mask({0, 5}) == std::vector<unsigned long>{0x21});
  CHECK(cpu_mask({63, 64, 130}) == std::vector<unsigned long>{1UL << 63, 1, 4});
}

TEST_CASE("children are collected without knowing them") {
  CHECK_FALSE(has_child());
  CHECK(ended_child() == 0);
  CHECK(reap_any() == 0);
  const StartedChild first = shell("exit 0");
  const StartedChild second = shell("exit 0");
  REQUIRE(eventually([&] { return has_ended(first.pidfd); }));
  REQUIRE(eventually([&] { return has_ended(second.pidfd); }));
  const int ended = ended_child();
  CHECK((ended == first.pid || ended == second.pid));
  CHECK(reap_orphan(ended));
  CHECK_FALSE(reap_orphan(ended));
  CHECK(has_child());
  CHECK(reap_any() == (ended == first.pid ? second.pid : first.pid));
  CHECK_FALSE(has_child());
}

TEST_CASE("a thread takes no signal for a while, and then takes it") {
  static volatile sig_atomic_t taken = 0;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { taken = 1; };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  {
    const WithoutSignals blocked;
    REQUIRE(::raise(SIGUSR1) == 0);
    CHECK(taken == 0);
  }
  CHECK(taken == 1);
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
}

TEST_CASE("the environment is told as a list and by name") {
  REQUIRE(::setenv("TRAIN_TEST_WORD", "a=b", 1) == 0);
  CHECK(session_environment()["TRAIN_TEST_WORD"] == "a=b");
  bool is_listed = false;
  for (const std::string& text : environment_texts())
    is_listed = is_listed || text == "TRAIN_TEST_WORD=a=b";
  CHECK(is_listed);
  REQUIRE(::unsetenv("TRAIN_TEST_WORD") == 0);
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a program ends with what it has printed, and destroys nothing that threads may use") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  (void)std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    (void)std::atexit([] { ::_exit(99); });
    (void)std::fputs("said", stdout);
    end_program(5);
  }
  ::close(ends[1]);
  const ExitStatus status = wait_for_child(child);
  CHECK(status.code == 5);
  char said[16] = {};
  CHECK(::read(ends[0], said, sizeof said - 1) == 4);
  CHECK(std::string(said) == "said");
  ::close(ends[0]);
}
#endif
