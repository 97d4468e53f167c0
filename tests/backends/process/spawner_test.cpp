// SPDX-License-Identifier: Apache-2.0
#include "backends/process/spawner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

namespace {

Outcome run(const ProcessSpec& spec) {
  LinuxSpawner spawner;
  auto process = spawner.spawn(spec);
  if (!process) FAIL(render(process.error()));
  return finish(*process);
}

}  // namespace

TEST_CASE("exit codes and signals are told apart") {
  struct Row {
    const char* script;
    std::optional<int> code;
    std::optional<int> signal;
  };
  const auto row = GENERATE(Row{"exit 0", 0, {}}, Row{"exit 1", 1, {}}, Row{"exit 137", 137, {}},
                            Row{"exit 255", 255, {}}, Row{"kill -TERM $$", {}, SIGTERM},
                            Row{"kill -KILL $$", {}, SIGKILL}, Row{"kill -PIPE $$", {}, SIGPIPE},
                            Row{"ulimit -c 0; kill -SEGV $$", {}, SIGSEGV});
  const Outcome outcome = run(shell(row.script));
  CAPTURE(row.script);
  CHECK(outcome.status.code == row.code);
  CHECK(outcome.status.signal == row.signal);
  CHECK_FALSE(outcome.status.dumped_core);
  CHECK(outcome.status.at == Instant(1));
}

TEST_CASE("a process that still runs is not collected, and one that was cannot be again") {
  LinuxSpawner spawner;
  auto process = spawner.spawn(shell("exec sleep 1000"));
  REQUIRE(process);
  const auto early = reap(process->pidfd, Instant(0));
  REQUIRE(early);
  CHECK_FALSE(*early);
  ::kill(process->pid, SIGKILL);
  const int pidfd = ::dup(process->pidfd);
  CHECK(finish(*process).status.signal == SIGKILL);
  CHECK_FALSE(reap(pidfd, Instant(0)));
  ::close(pidfd);
}

TEST_CASE("output and errors arrive apart and whole") {
  const Outcome outcome = run(shell("head -c 3000000 /dev/zero; echo trouble >&2"));
  CHECK(outcome.output == std::string(3'000'000, '\0'));
  CHECK(outcome.errors == "trouble\n");
}

TEST_CASE("the environment is exactly the one given") {
  const ProcessSpec spec{"/usr/bin/env", {"env", "-0"}, {"A=1", "B=x y\n'z' $HOME", "EMPTY="}, "/"};
  using namespace std::string_literals;
  CHECK(run(spec).output == "A=1\0B=x y\n'z' $HOME\0EMPTY=\0"s);
}

TEST_CASE("arguments arrive byte for byte") {
  ProcessSpec spec = shell("for a; do printf '%s|' \"$a\"; done");
  for (const char* argument : {"sh", "I am 6' tall", "$HOME", "", "two\nlines", "\xff\x01"})
    spec.argv.emplace_back(argument);
  CHECK(run(spec).output == "I am 6' tall|$HOME||two\nlines|\xff\x01|");
}

TEST_CASE("a process starts in its working directory") {
  ProcessSpec spec = shell("pwd -P");
  spec.working_directory = "/usr/bin";
  CHECK(run(spec).output == "/usr/bin\n");
}

TEST_CASE("a process has nothing to read and leads a session of its own") {
  CHECK(run(shell("cat; read a b c d group session rest </proc/$$/stat; "
                  "[ $group = $$ ] && [ $session = $$ ]"))
            .status.code == 0);
}

TEST_CASE("no descriptor of the agent reaches a process") {
  const int low = ::open("/dev/null", O_RDONLY);
  const int high = ::fcntl(low, F_DUPFD, 700);
  REQUIRE(high >= 700);
  ProcessSpec spec = shell("");
  spec.program = "/bin/ls";
  spec.argv = {"ls", "/proc/self/fd"};
  CHECK(run(spec).output == "0\n1\n2\n3\n");  // 3 is the directory that ls reads
  ::close(low);
  ::close(high);
}

TEST_CASE("ignored and blocked signals of the agent are not inherited") {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  ProcessSpec spec = shell("");
  spec.program = "/bin/grep";
  spec.argv = {"grep", "-hE", "^Sig(Blk|Ign):.*[1-9a-f]", "/proc/self/status"};
  const Outcome outcome = run(spec);
  sigset_t after;
  ::sigprocmask(SIG_SETMASK, &before, &after);
  CHECK(outcome.output.empty());
  CHECK(::sigismember(&after, SIGUSR2) == 1);  // the agent's own mask is as it was
  CHECK(::sigismember(&after, SIGTERM) == 0);
  CHECK(::signal(SIGUSR1, SIG_DFL) == SIG_IGN);
}

TEST_CASE("the agent's ends of the pipes do not block and are not inherited") {
  LinuxSpawner spawner;
  auto process = spawner.spawn(shell("exit 0"));
  REQUIRE(process);
  for (const int fd : {process->stdout_fd, process->stderr_fd}) {
    CHECK((::fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK((::fcntl(process->pidfd, F_GETFD) & FD_CLOEXEC) != 0);
  finish(*process);
}

TEST_CASE("a process that cannot be bound to its CPUs is named with what to do") {
  ProcessSpec spec = shell("exit 0");
  spec.cpus = {8'191};
  LinuxSpawner spawner;
  const auto process = spawner.spawn(spec);
  REQUIRE_FALSE(process);
  CHECK(process.error().error_class == ErrorClass::host);
  const Diagnostic& why = process.error().diagnostics.front();
  CHECK(why.message ==
        "cannot bind '/bin/sh' to its CPUs (sched_setaffinity): " + system_reason(EINVAL));
  CHECK(why.hint.find("cpu_binding") != why.hint.npos);
}

TEST_CASE("what cannot be started is named with the step, the reason and what to do") {
  TemporaryDirectory directory;
  directory.write("plain", "echo hi\n", 0644);
  directory.write("no_interpreter", "#!/usr/bin/python9 -u\n", 0755);
  directory.write("dos", "#!/bin/sh\r\necho\r\n", 0755);
  directory.write("relative", "#!nowhere\n", 0755);
  directory.write("text", "echo hi\n", 0755);
  struct Row {
    const char* program;
    const char* working_directory;
    const char* message;
  };
  const auto row = GENERATE(
      Row{"absent", "/", "cannot execute '{}/absent': no such file"},
      Row{"", "/", "cannot execute '{}/': it is a directory"},
      Row{"plain", "/", "cannot execute '{}/plain': permission denied: it is not executable"},
      Row{"no_interpreter", "/",
          "its interpreter '/usr/bin/python9' cannot be executed: no such file"},
      Row{"dos", "/", "cannot execute '{}/dos': its first line ends in a carriage return"},
      Row{"relative", "/",
          "cannot execute '{}/relative' (exec): its interpreter 'nowhere' is missing"},
      Row{"text", "/", "cannot execute '{}/text' (exec): it is neither a program"},
      Row{"text", "/not/there", "working directory '/not/there': no such file or directory"},
      Row{"text", "/bin/sh", "working directory '/bin/sh' is not a directory"});
  std::string expected = row.message;
  if (const size_t place = expected.find("{}"); place != expected.npos)
    expected.replace(place, 2, directory.path());
  const std::string program = directory.path() + "/" + row.program;
  const size_t descriptors = count_descriptors();
  LinuxSpawner spawner;
  const auto process = spawner.spawn({program, {program}, {}, row.working_directory});
  REQUIRE_FALSE(process);
  CAPTURE(expected);
  CHECK_THAT(render(process.error()), Catch::Matchers::Contains(expected));
  CHECK(process.error().error_class == ErrorClass::missing);
  CHECK(count_descriptors() == descriptors);
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no zombie
}

TEST_CASE("too long an argument is the configuration's fault") {
  LinuxSpawner spawner;
  const auto process = spawner.spawn(shell(std::string(200 << 10, ' ')));
  REQUIRE_FALSE(process);
  CHECK(process.error().error_class == ErrorClass::config);
}

TEST_CASE("a process can be started while the standard descriptors are closed") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int fd : {0, 1, 2}) ::close(fd);
    LinuxSpawner spawner;
    auto process = spawner.spawn(shell("cat; echo out; echo err >&2"));
    if (!process) ::_exit(1);
    const Outcome outcome = finish(*process);
    ::_exit(outcome.output == "out\n" && outcome.errors == "err\n" ? 0 : 2);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a killed agent takes its processes with it") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t agent = ::fork();
  if (agent == 0) {
    LinuxSpawner spawner;
    auto process = spawner.spawn(shell("exec sleep 1000"));
    if (process) write_all(pipe->write_end.get(), std::to_string(process->pid) + "\n");
    while (true) ::pause();
  }
  const int worker = std::stoi(read_line(pipe->read_end.get()));
  CHECK(is_running(worker));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  CHECK(eventually([&] { return !is_running(worker); }));
}

TEST_CASE("a start that finds no descriptor or process left is the host's trouble") {
  rlimit before{};
  ProcessSpec spec = shell("exit 0");
  SECTION("descriptors") {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{count_descriptors() + 2, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const auto process = LinuxSpawner().spawn(spec);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE_FALSE(process);
    CHECK(process.error().error_class == ErrorClass::host);
    CHECK(render(process.error()).find("too many open files") != std::string::npos);
  }
  SECTION("processes") {
    if (::geteuid() != 0) SKIP_CASE("only root can become a user with a limit of its own");
    const int pid = ::fork();
    if (pid == 0) {
      const rlimit none{1, 1};
      if (::setrlimit(RLIMIT_NPROC, &none) != 0 || ::setuid(12'347) != 0) ::_exit(2);
      const auto process = LinuxSpawner().spawn(spec);
      const bool is_named = !process && process.error().error_class == ErrorClass::host &&
                            render(process.error()).find("ulimit -u") != std::string::npos;
      ::_exit(is_named ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
}
