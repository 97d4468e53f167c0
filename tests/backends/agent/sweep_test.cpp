// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/sweep.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backends/posix/proc.hpp"
#include "backends/process/spawner.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// What no process has in its environment.
const std::string no_mark = "TRAIN_RUN_DIR=/nowhere";

// A rank with its output open, and whatever it has started, until the end of the test.
class Rank {
 public:
  explicit Rank(const std::string& script, const std::string& mark = {}, int cgroup = -1) {
    LinuxSpawner spawner;
    spawner.start_in(cgroup);
    const auto process = spawner.spawn(shell(script, {"TEST_RANK=" + name(), mark}));
    if (!process) FAIL(render(process.error()));
    process_ = *process;
    pidfd_.reset(process->pidfd);
    output_.reset(process->stdout_fd);
    errors_.reset(process->stderr_fd);
    status_ = *status_of(process->pid);
  }
  ~Rank() {
    ::kill(process_.pid, SIGKILL);
    ::waitpid(process_.pid, nullptr, 0);
    for (const int pid : all_processes())
      if (command_of(pid) == "sleep " + number_) ::kill(pid, SIGKILL);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int pid() const { return process_.pid; }
  std::string line() const { return read_line(output_.get()); }
  /// As PDEATHSIG does when the agent is killed.
  void die() const {
    ::kill(process_.pid, SIGKILL);
    ::waitpid(process_.pid, nullptr, 0);
  }
  AgentRecord::Rank recorded() const {
    AgentRecord::Rank rank{process_.pid, status_.start, {}};
    for (const int output : {output_.get(), errors_.get()}) {
      struct stat status {};
      ::fstat(output, &status);
      rank.pipes.insert(status.st_ino);
    }
    return rank;
  }

  /// "sleep NUMBER" of this test process alone: what scripts run, and how it is found again.
  static std::string sleeps() { return "sleep " + number_; }
  static int sleeping() {
    const std::vector<int> all = all_processes();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [](int pid) {
      return command_of(pid) == sleeps() && is_running(pid);
    }));
  }

 private:
  static std::string name() { return std::to_string(::getpid()); }
  inline static const std::string number_ = std::to_string(100'000 + ::getpid());

  SpawnedProcess process_;
  Descriptor pidfd_;
  Descriptor output_;
  Descriptor errors_;
  ProcessStatus status_;
};

// As if this process were a dead agent; it and its ancestors are spared.
AgentRecord record_with(std::vector<AgentRecord::Rank> ranks) {
  AgentRecord record = record_of_this_process();
  record.ranks = std::move(ranks);
  return record;
}

AgentRecord::Rank without_pipes(AgentRecord::Rank rank) {
  rank.pipes.clear();
  return rank;
}

// A host directory with what agents leave there.
struct Host {
  TemporaryDirectory base;
  HostDirectory directory = HostDirectory::open(base.path()).value();

  std::string file(const std::string& name) const { return base.path() + "/" + name; }
  bool has(const std::string& name) const { return std::filesystem::exists(file(name)); }
  void leave(const std::string& key, const std::string& record) const {
    base.write(key + ".lock", record, 0600);
    base.write(key + ".sock", "", 0600);
    REQUIRE(directory.make_run_directory(key));
    REQUIRE(directory.write_file(key, "settings.json", "{}"));
  }
  bool has_left(const std::string& key) const {
    return has(key) || has(key + ".lock") || has(key + ".sock");
  }
  Descriptor lock(const std::string& key) const {
    Descriptor opened(::open(file(key + ".lock").c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::flock(opened.get(), LOCK_EX | LOCK_NB) == 0);
    return opened;
  }
};

void make_old(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 48h);
}

}  // namespace

TEST_CASE("marked processes are found wherever they are, and only they") {
  const std::string mark = "TRAIN_RUN_DIR=/x/mark" + std::to_string(::getpid());
  const Rank ours("(setsid " + Rank::sleeps() + " &); exec " + Rank::sleeps(), mark);
  const Rank longer("exec " + Rank::sleeps(), mark + "0");
  const Rank quoting("exec " + Rank::sleeps(), "OTHER=" + mark);
  REQUIRE(eventually([] { return Rank::sleeping() == 4; }));
  const Sweep sweep = end_processes_of({}, "t-0", mark, 5s);
  CHECK(sweep.ended == 2);
  CHECK(sweep.survivors.empty());
  CHECK(Rank::sleeping() == 2);
  CHECK(is_running(longer.pid()));
  CHECK(is_running(quoting.pid()));
}

TEST_CASE("marked processes that fork meanwhile are killed") {
  const std::string mark = "TRAIN_RUN_DIR=/x/busy" + std::to_string(::getpid());
  const Rank rank("bomb() { if [ $1 -gt 0 ]; then bomb $(($1 - 1)) & bomb $(($1 - 1)) & fi;" +
                      Rank::sleeps() + "; }; bomb 5",
                  mark);
  REQUIRE(eventually([] { return Rank::sleeping() >= 5; }));
  CHECK(end_processes_of({}, "t-0", mark, 10s).survivors.empty());
  CHECK(running_with(mark).empty());
}

TEST_CASE("the session of a rank goes, whatever has forgotten its environment there") {
  const Rank rank("env -i " + Rank::sleeps() + " & " + Rank::sleeps() + " & echo up; wait");
  REQUIRE(rank.line() == "up");
  REQUIRE(eventually([] { return Rank::sleeping() == 2; }));
  const bool leader_lives = GENERATE(true, false);
  if (!leader_lives) rank.die();
  const AgentRecord record = record_with({without_pipes(rank.recorded())});
  const Sweep sweep = end_processes_of(record, "t-0", no_mark, 5s);
  CHECK(sweep.ended >= 2);
  CHECK(Rank::sleeping() == 0);
}

TEST_CASE("what left the session is known by the output of its rank, or by its parent") {
  const Rank rank("setsid env -i " + Rank::sleeps() + " & setsid env -i sh -c '(setsid " +
                  Rank::sleeps() + " >/dev/null 2>&1 </dev/null & wait)' & echo up; wait");
  REQUIRE(rank.line() == "up");
  REQUIRE(eventually([] { return Rank::sleeping() == 2; }));
  rank.die();
  const Sweep sweep = end_processes_of(record_with({rank.recorded()}), "t-0", no_mark, 5s);
  CHECK(sweep.ended >= 2);
  CHECK(Rank::sleeping() == 0);
}

TEST_CASE("a number that means another process by now does no harm") {
  const Rank stranger(Rank::sleeps() + " & echo up; " + Rank::sleeps());
  REQUIRE(stranger.line() == "up");
  REQUIRE(eventually([] { return Rank::sleeping() == 2; }));
  AgentRecord::Rank rank = without_pipes(stranger.recorded());
  AgentRecord record = record_with({});
  SECTION("a session with a leader that started later") { rank.started_by -= 1; }
  SECTION("a session of another login, whose leader has ended") {
    rank.started_by -= 1;
    stranger.die();
    record.login = "17 0::/user.slice/user-1000.slice/session-9.scope";
  }
  SECTION("everything is older than the agent") { record.agent_start += 1'000'000; }
  SECTION("the record is of an earlier boot") { record.boot_id = "earlier"; }
  SECTION("the record is of another process namespace") { record.pid_namespace = "pid:[1]"; }
  record.ranks = {rank};
  const int before = Rank::sleeping();
  CHECK(end_processes_of(record, "t-0", no_mark, 5s).ended == 0);
  CHECK(Rank::sleeping() == before);
}

TEST_CASE("a sweep never ends itself or what it was started by") {
  const AgentRecord here = record_with({});
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setsid();
    AgentRecord record = here;
    record.ranks = {{::getpid(), status_of(::getpid())->start, {}}};
    const pid_t sibling = ::fork();
    if (sibling == 0) {
      ::pause();
      ::_exit(0);
    }
    const pid_t sweeper = ::fork();
    if (sweeper == 0) ::_exit(end_processes_of(record, "t-0", no_mark, 5s).ended == 1 ? 0 : 1);
    int status = -1;
    ::waitpid(sweeper, &status, 0);
    ::_exit(status == 0 ? 7 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(leader, &status, 0) == leader);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}

TEST_CASE("the state of a dead agent goes, with what it had left") {
  const Host host;
  const std::string mark = "TRAIN_RUN_DIR=" + host.directory.run_directory("dead-0");
  const Rank rank("exec " + Rank::sleeps(), mark);
  REQUIRE(eventually([] { return Rank::sleeping() == 1; }));
  host.leave("dead-0", to_text(record_of_this_process()));
  const auto sweep = sweep_agent(host.directory, "dead-0", 0s);
  REQUIRE(sweep);
  CHECK(sweep->found_state);
  CHECK(sweep->ended == 1);
  CHECK_FALSE(host.has_left("dead-0"));
  const auto again = sweep_agent(host.directory, "dead-0", 0s);
  REQUIRE(again);
  CHECK_FALSE(again->found_state);
  CHECK(again->ended == 0);
}

TEST_CASE("an agent that lives is left alone, and not waited for") {
  const Host host;
  host.leave("live-0", to_text(record_of_this_process()));
  const Descriptor lock = host.lock("live-0");
  const auto began = std::chrono::steady_clock::now();
  const auto sweep = sweep_agent(host.directory, "live-0", 100s);
  REQUIRE(sweep);
  CHECK(sweep->is_running);
  CHECK(std::chrono::steady_clock::now() - began < 100s);  // waits: it would wait so long
  CHECK(host.has("live-0"));
  CHECK(host.has("live-0.sock"));
}

TEST_CASE("a guard that still cleans up is waited for") {
  const Host host;
  AgentRecord record = record_of_this_process();
  record.agent_start -= 1;  // another process had this number
  host.leave("ends-0", to_text(record));
  const Descriptor lock = host.lock("ends-0");
  const auto sweep = sweep_agent(host.directory, "ends-0", 50ms);
  REQUIRE(sweep);
  CHECK(sweep->is_running);
}

TEST_CASE("before an agent starts, the dead ones are swept, and only they") {
  const Host host;
  const std::string record = to_text(record_of_this_process());
  for (const char* key : {"dead-0", "dead-1", "live-0"}) host.leave(key, record);
  host.leave("starting-0", "");
  host.leave("never-0", "");
  make_old(host.file("never-0.lock"));
  host.leave("foreign-0", "boot " + record_of_this_process().boot_id + "\nnamespace pid:[1]\n");
  host.leave("foreign-1", "boot " + record_of_this_process().boot_id + "\nnamespace pid:[1]\n");
  make_old(host.file("foreign-1.lock"));
  host.leave("own-0", record);
  const Descriptor live = host.lock("live-0");
  const Descriptor own = host.lock("own-0");
  sweep_before_start(host.directory, "own-0", own.get());
  for (const char* key : {"dead-0", "dead-1", "never-0", "foreign-1"})
    CHECK_FALSE(host.has_left(key));
  for (const char* key : {"live-0", "starting-0", "foreign-0"}) CHECK(host.has(key));
  CHECK(std::filesystem::file_size(host.file("own-0.lock")) == 0);
}

TEST_CASE("what another user could have written is no record") {
  const Host host;
  const Rank rank("exec " + Rank::sleeps());
  REQUIRE(eventually([] { return Rank::sleeping() == 1; }));
  const std::string text = to_text(record_with({rank.recorded()}));
  SECTION("a file that others may write to") {
    host.leave("forged-0", text);
    ::chmod(host.file("forged-0.lock").c_str(), 0666);
    CHECK(sweep_agent(host.directory, "forged-0", 0s));
  }
  SECTION("a file of somebody else") {
    host.leave("forged-0", text);
    if (::chown(host.file("forged-0.lock").c_str(), 65534, 65534) != 0) return;  // takes root
    CHECK(sweep_agent(host.directory, "forged-0", 0s));
  }
  SECTION("a link to somewhere") {
    std::filesystem::create_symlink(host.base.write("elsewhere", text, 0600),
                                    host.file("forged-0.lock"));
    CHECK_FALSE(sweep_agent(host.directory, "forged-0", 0s));
    CHECK(host.has("elsewhere"));
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(host.file("forged-0.lock").c_str(), 0600) == 0);
    CHECK(sweep_agent(host.directory, "forged-0", 0s));
  }
  CHECK(Rank::sleeping() == 1);
}

TEST_CASE("as a plain user, no process of another user is touched") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  const std::string mark = "TRAIN_RUN_DIR=/x/other" + std::to_string(::getpid());
  const Rank rank("exec " + Rank::sleeps(), mark);
  REQUIRE(eventually([] { return Rank::sleeping() == 1; }));
  const pid_t sweeper = ::fork();
  if (sweeper == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
    const Sweep sweep = end_processes_of(record_with({rank.recorded()}), "t-0", mark, 5s);
    ::_exit(sweep.ended == 0 && sweep.survivors.empty() ? 0 : 4);
  }
  int status = -1;
  REQUIRE(::waitpid(sweeper, &status, 0) == sweeper);
  CHECK(status == 0);
  CHECK(Rank::sleeping() == 1);
}

TEST_CASE("a cgroup holds what keeps nothing of its rank") {
  const std::string key = "sweep" + std::to_string(::getpid());
  const AgentRecord here = record_of_this_process();
  const auto path = path_for_cgroup(cgroup_name(key, here.agent));
  if (!path) {
    WARN("skipped: no cgroup can be made here");
    return;
  }
  const Descriptor cgroup(make_cgroup(*path));
  REQUIRE(cgroup);
  const Rank rank(
      "(setsid env -i " + Rank::sleeps() + " >/dev/null 2>&1 </dev/null &); echo up; wait", {},
      cgroup.get());
  REQUIRE(rank.line() == "up");
  REQUIRE(eventually([] { return Rank::sleeping() == 1; }));
  rank.die();
  AgentRecord record = here;
  record.cgroup = *path;
  SECTION("whose name is right") {
    CHECK(end_processes_of(record, key, no_mark, 5s).ended == 1);
    CHECK(Rank::sleeping() == 0);
    CHECK_FALSE(std::filesystem::exists(*path));
  }
  SECTION("whose name is that of another agent") {
    CHECK(end_processes_of(record, key + "x", no_mark, 5s).ended == 0);
    CHECK(Rank::sleeping() == 1);
    kill_cgroup(*path);
    CHECK(remove_cgroup(*path, 5s));
  }
}
