// SPDX-License-Identifier: Apache-2.0
#include "backends/process/cgroup.hpp"

#include <fcntl.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/posix/descriptor.hpp"
#include "backends/process/spawner.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

const std::string login = "/user.slice/user-1000.slice/session-3.scope";
const std::string manager = "/user.slice/user-1000.slice/user@1000.service";

std::optional<std::string> place(const std::string& own, const std::string& delegated = "",
                                 bool lingers = false) {
  return place_for_cgroup(
      {own, true, 1000, lingers, [=](const std::string& path) { return path == delegated; }});
}

}  // namespace

TEST_CASE("cgroups are made where nobody else owns them, and nowhere else") {
  // A plain login, and the manager of a user that goes with it.
  CHECK_FALSE(place(login));
  CHECK_FALSE(place(login, "/somewhere/else"));
  CHECK(place(login, "", true) == manager);
  // Below the manager already.
  CHECK(place(manager + "/app.slice/terminal.scope") == manager);
  // What systemd has left to others: in place, so that no limit is left behind.
  CHECK(place("/system.slice/job.scope/step_0", "/system.slice/job.scope") ==
        "/system.slice/job.scope/step_0");
  CHECK_FALSE(place("/system.slice/ssh.service"));
  // No prefix of a name is a parent.
  CHECK_FALSE(place(manager + "x/y"));
  // Another user's manager is not ours.
  CHECK_FALSE(place("/user.slice/user-1001.slice/user@1001.service/app.slice"));
  // Without systemd.
  CHECK(place_for_cgroup({"/", false, 0, false, {}}) == "/");
  CHECK(place_for_cgroup({"/openrc.sshd", false, 0, false, {}}) == "/openrc.sshd");
  // Outside of what this process can see, or not known.
  CHECK_FALSE(place_for_cgroup({"/../x", false, 0, false, {}}));
  CHECK_FALSE(place_for_cgroup({"", false, 0, false, {}}));
}

TEST_CASE("only a cgroup of this name and user is one of ours") {
  CHECK_FALSE(is_cgroup_of("/sys/fs/cgroup", "cgroup"));
  CHECK_FALSE(is_cgroup_of("/tmp/train-t-0-1", "train-t-0-1"));
  CHECK_FALSE(is_cgroup_of("/sys/fs/cgroup/../../../tmp/train-t-0-1", "train-t-0-1"));
  CHECK_FALSE(is_cgroup_of("", ""));
}

TEST_CASE("a rank starts inside its cgroup, which goes with all that is in it") {
  const std::string name = cgroup_name("start" + std::to_string(::getpid()), ::getpid());
  const auto path = path_for_cgroup(name);
  if (!path) {
    WARN("skipped: no cgroup can be made here");
    return;
  }
  {
    const Descriptor cgroup(make_cgroup(*path));
    REQUIRE(cgroup);
    CHECK(make_cgroup(*path) == -1);
    CHECK(is_cgroup_of(*path, name));
    CHECK_FALSE(is_cgroup_of(*path, name + "0"));
    LinuxSpawner spawner;
    spawner.start_in(cgroup.get());
    const auto reading = spawner.spawn(shell("sed -n 's/^0:://p' /proc/self/cgroup"));
    REQUIRE(reading);
    CHECK(finish(*reading).output.find("/" + name + "\n") != std::string::npos);
    std::filesystem::create_directory(*path + "/below");
    const auto staying =
        spawner.spawn(shell("echo 0 >" + *path + "/below/cgroup.procs; echo up; sleep 1000"));
    REQUIRE(staying);
    REQUIRE(read_line(staying->stdout_fd) == "up");
    CHECK(processes_in_cgroup(*path).size() >= 1);
    CHECK_FALSE(remove_cgroup(*path, 10ms));
    kill_cgroup(*path);
    CHECK(finish(*staying).status.signal == 9);
  }
  CHECK(remove_cgroup(*path, 5s));
  CHECK_FALSE(std::filesystem::exists(*path));
}

// Linux 6.14 kills what is started elsewhere from a cgroup that was emptied by cgroup.kill.
TEST_CASE("a rank survives a start from a cgroup that was killed once") {
  const std::string number = std::to_string(::getpid());
  const auto old_home = path_for_cgroup(cgroup_name("home" + number, ::getpid()));
  if (!old_home) {
    WARN("skipped: no cgroup can be made here");
    return;
  }
  const Descriptor home(make_cgroup(*old_home));
  REQUIRE(home);
  kill_cgroup(*old_home);
  const pid_t agent = ::fork();
  if (agent == 0) {
    std::ofstream(*old_home + "/cgroup.procs") << "0" << std::flush;
    const std::string inner = *old_home + "/" + cgroup_name("inner", ::getpid());
    const Descriptor cgroup(make_cgroup(inner));
    LinuxSpawner spawner;
    spawner.start_in(cgroup.get());
    const auto process = spawner.spawn(shell("sed -n 's/^0:://p' /proc/self/cgroup"));
    if (!process) ::_exit(2);
    const Outcome outcome = finish(*process);
    ::_exit(outcome.output.find("/train-inner-") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(agent, &status, 0) == agent);
  CHECK(status == 0);
  CHECK(remove_cgroup(*old_home, 5s));
}

TEST_CASE("a rank starts although its cgroup is gone") {
  const TemporaryDirectory base;
  const Descriptor no_cgroup(::open(base.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  LinuxSpawner spawner;
  spawner.start_in(no_cgroup.get());
  const auto process = spawner.spawn(shell("echo here"));
  REQUIRE(process);
  CHECK(finish(*process).output == "here\n");
}

TEST_CASE("a plain user makes no cgroup where none is theirs") {
  if (::getuid() != 0) {
    WARN("skipped: needs root to become somebody else");
    return;
  }
  const pid_t user = ::fork();
  if (user == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
    ::_exit(path_for_cgroup("train-t-0-1") ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(user, &status, 0) == user);
  CHECK(status == 0);
}
