// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/login_session.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
namespace fs = std::filesystem;

namespace {

struct Machine {
  TemporaryDirectory root;
  std::string cgroups = "0::/user.slice/user-1000.slice/session-3.scope\n";

  void write(const std::string& path, const std::string& text) const {
    const fs::path file = fs::path(root.path()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  AtLogout of(const std::string& user) const {
    return at_logout({cgroups, 1'000, user, root.path()});
  }
  AtLogout here() const { return of("me"); }
};

}  // namespace

TEST_CASE("a login's processes are killed where logind is told to") {
  Machine machine;
  CHECK(machine.here() == AtLogout::nothing);  // nobody says so
  machine.write("etc/systemd/logind.conf", "[Login]\n#KillUserProcesses=no\n");
  CHECK(machine.here() == AtLogout::nothing);
  machine.write("etc/systemd/logind.conf", "[Login]\nKillUserProcesses = yes\n");
  CHECK(machine.here() == AtLogout::kills_session);
  CHECK(machine.of("root") == AtLogout::nothing);
  SECTION("not at the end of a login: what is no part of one") {
    for (const char* cgroup :
         {"0::/system.slice/ssh.service\n", "0::/\n", "", "nonsense", "0::/user.slice\n",
          "0::/user.slice/user-1001.slice/session-3.scope\n"}) {
      machine.cgroups = cgroup;
      CHECK(machine.here() == AtLogout::nothing);
    }
  }
  SECTION("the hierarchy of systemd beside version 1") {
    machine.cgroups =
        "12:memory:/somewhere\n1:name=systemd:/user.slice/user-1000.slice/session-c1.scope\n0::/\n";
    CHECK(machine.here() == AtLogout::kills_session);
    machine.cgroups = "1:name=systemd:/\n0::/user.slice/user-1000.slice/session-3.scope\n";
    CHECK(machine.here() == AtLogout::kills_session);
  }
  SECTION("a drop-in wins, of them the last, and one below /etc over its namesake") {
    machine.write("usr/lib/systemd/logind.conf.d/50-off.conf", "[Login]\nKillUserProcesses=off\n");
    CHECK(machine.here() == AtLogout::nothing);
    machine.write("run/systemd/logind.conf.d/60-on.conf", "[Login]\nKillUserProcesses=1\n");
    CHECK(machine.here() == AtLogout::kills_session);
    machine.write("etc/systemd/logind.conf.d/60-on.conf", "");
    CHECK(machine.here() == AtLogout::nothing);
    machine.write("etc/systemd/logind.conf.d/99-on", "[Login]\nKillUserProcesses=1\n");
    CHECK(machine.here() == AtLogout::nothing);
  }
  SECTION("some users") {
    machine.write("etc/systemd/logind.conf.d/1.conf", "KillExcludeUsers=root me\n");
    CHECK(machine.here() == AtLogout::nothing);
    machine.write("etc/systemd/logind.conf.d/1.conf", "KillExcludeUsers=\n");
    CHECK(machine.of("root") == AtLogout::kills_session);
    machine.write("etc/systemd/logind.conf.d/1.conf", "KillOnlyUsers=you\n");
    CHECK(machine.here() == AtLogout::nothing);
  }
}

TEST_CASE("what logind was built to do stands in its file as a comment") {
  Machine machine;
  machine.write("usr/lib/systemd/logind.conf", "[Login]\n#KillUserProcesses=yes\n");
  CHECK(machine.here() == AtLogout::kills_session);
  machine.write("etc/systemd/logind.conf", "#KillUserProcesses=yes\nKillUserProcesses=no\n");
  CHECK(machine.here() == AtLogout::nothing);
}

TEST_CASE("a user's manager ends with the last login unless it lingers") {
  Machine machine;
  machine.cgroups = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope\n";
  CHECK(machine.here() == AtLogout::ends_manager);
  machine.write("var/lib/systemd/linger/me", "");
  CHECK(machine.here() == AtLogout::nothing);
  CHECK(machine.of("../linger/me") == AtLogout::ends_manager);
  CHECK(machine.of("") == AtLogout::ends_manager);
}
