// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_config.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// A folder with a configuration and a `ssh` that notes how it is called.
struct Fixture {
  Fixture() {
    std::filesystem::create_directories(ssh_folder());
    files.user_file = (ssh_folder() / "config").string();
    files.system_file = (folder.path() / "system/ssh_config").string();
    files.home = folder.path().string();
    files.program = (folder.path() / "ssh").string();
    files.deadline = 1h;
    defaults.user = "me";
    // ssh itself looks for its files where the user database says.
    ssh("exec /usr/bin/ssh -F '" + files.user_file + "' \"$@\"");
  }

  std::filesystem::path ssh_folder() const { return folder.path() / ".ssh"; }
  void configure(const std::string& text) const { write_file(files.user_file, text); }
  void ssh(const std::string& body) const {
    write_file(files.program, "#!/bin/sh\necho \"$*\" >>'" + (folder.path() / "calls").string() +
                                  "'\n" + body + "\n");
    ::chmod(files.program.c_str(), 0755);
  }
  std::string calls() const { return read_file(folder.path() / "calls"); }
  long call_count() const {
    const std::string text = calls();
    return std::count(text.begin(), text.end(), '\n');
  }

  std::vector<Result<SshSettings>> ask(const std::vector<SshDestination>& destinations) {
    FileWork work(loop, files.deadline);
    SshConfig config(loop, work, files, defaults);
    std::vector<std::optional<Result<SshSettings>>> answers(destinations.size());
    std::size_t left = destinations.size();
    for (std::size_t i = 0; i < destinations.size(); ++i)
      config.settings_of(destinations[i], [&, i](const Result<SshSettings>& settings) {
        CHECK_FALSE(answers[i]);
        answers[i] = settings;
        --left;
      });
    (void)loop_until(
        loop, [&] { return left == 0; }, 60s);
    std::vector<Result<SshSettings>> found;
    for (auto& answer : answers) {
      REQUIRE(answer);
      found.push_back(*answer);
    }
    return found;
  }

  TemporaryFolder folder;
  Loop loop;
  SshConfigFiles files;
  SshSettings defaults;
};

std::string message(const Result<SshSettings>& settings) {
  REQUIRE_FALSE(settings);
  return settings.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("without a configuration, or one that matters, ssh is not run") {
  Fixture fixture;
  const auto ask = [&] { return fixture.ask({{"a", "", {}}, {"b", "bob", 2222}}); };
  auto answers = ask();
  CHECK(answers[0]->hostname == "a");
  CHECK(answers[0]->user == "me");
  CHECK(answers[0]->port == 22);
  CHECK(answers[1]->hostname == "b");
  CHECK(answers[1]->user == "bob");
  CHECK(answers[1]->port == 2222);
  fixture.configure("Host *\n  SendEnv LANG\n  GSSAPIAuthentication yes\n");
  answers = ask();
  CHECK(answers[1]->user == "bob");
  CHECK(fixture.calls().empty());
}

TEST_CASE("hosts for which the same lines hold share one call, and keep their names") {
  Fixture fixture;
  fixture.configure("Host gpu*\n  User bob\n  Port 2222\nHost alias\n  HostName 127.0.0.9\n");
  std::vector<SshDestination> hosts;
  for (int i = 0; i < 20; ++i) hosts.push_back({"gpu" + std::to_string(i), "", {}});
  hosts.push_back({"alias", "", {}});
  hosts.push_back({"gpu3", "eve", 99});
  const auto answers = fixture.ask(hosts);
  CHECK(answers[7]->hostname == "gpu7");
  CHECK(answers[7]->user == "bob");
  CHECK(answers[7]->port == 2222);
  CHECK(answers[20]->hostname == "127.0.0.9");
  CHECK(answers[21]->hostname == "gpu3");
  CHECK(answers[21]->user == "eve");
  CHECK(answers[21]->port == 99);
  CHECK(fixture.call_count() == 3);
}

TEST_CASE("a configuration that looks at names is asked for every host") {
  Fixture fixture;
  fixture.configure(
      "Match exec \"test %n = n2\"\n  Port 2200\nHost n*\n HostName %h.example.org\n");
  std::vector<SshDestination> hosts;
  for (int i = 0; i < 40; ++i) hosts.push_back({"n" + std::to_string(i), "", {}});
  const auto answers = fixture.ask(hosts);
  CHECK(answers[1]->hostname == "n1.example.org");
  CHECK(answers[1]->port == 22);
  CHECK(answers[2]->hostname == "n2.example.org");
  CHECK(answers[2]->port == 2200);
  CHECK(fixture.call_count() == 40);
}

TEST_CASE("included files count as if they stood in place of the line") {
  Fixture fixture;
  std::filesystem::create_directories(fixture.ssh_folder() / "conf.d");
  const auto included = fixture.ssh_folder() / "conf.d";
  write_file(included / "one.conf", "Host a\n  Port 2201\n");
  write_file(included / "two.conf", "Host b\n  Port 2202\n");
  fixture.configure("Include " + included.string() + "/*.conf\n");
  const auto answers = fixture.ask({{"a", "", {}}, {"b", "", {}}, {"c", "", {}}, {"d", "", {}}});
  CHECK(answers[0]->port == 2201);
  CHECK(answers[1]->port == 2202);
  CHECK(answers[2]->port == 22);
  CHECK(fixture.call_count() == 3);
}

TEST_CASE("a file that includes itself ends, and every host is asked for") {
  Fixture fixture;
  fixture.ssh("echo hostname h; echo port 22");
  fixture.configure("Include " + fixture.files.user_file + "\n");
  CHECK(fixture.ask({{"a", "", {}}, {"b", "", {}}})[1]->port == 22);
  CHECK(fixture.call_count() == 2);
}

TEST_CASE("a configuration that ssh does not like is told in its words") {
  Fixture fixture;
  fixture.configure("Host *\n  Prot 22\n");
  const auto answers = fixture.ask({{"a", "", {}}, {"b", "", {}}});
  CHECK(message(answers[0]).find("config: line 2: Bad configuration option: prot") !=
        std::string::npos);
  CHECK(message(answers[1]) == message(answers[0]));
  CHECK(answers[0].error().error_class == ErrorClass::host);
  CHECK(fixture.call_count() == 1);
}

TEST_CASE("a ssh that is missing, hangs, is killed or prints without end is told") {
  Fixture fixture;
  fixture.configure("User bob\n");
  SECTION("missing") {
    fixture.files.program = "no-such-ssh";
    const auto answer = fixture.ask({{"a", "", {}}})[0];
    CHECK(message(answer) == "there is no 'no-such-ssh' to read ssh's configuration with");
    CHECK(answer.error().error_class == ErrorClass::missing);
  }
  SECTION("hangs") {
    const std::string sleeper = "sleep 4713." + std::to_string(::getpid());  // nobody else's
    fixture.ssh("exec " + sleeper);
    fixture.files.deadline = 200ms;
    CHECK(message(fixture.ask({{"a", "", {}}})[0]).find("gave no answer within 0.2 s") !=
          std::string::npos);
    CHECK(output_of("pgrep -fx '" + sleeper + "' || echo none") == "none\n");
  }
  SECTION("killed") {
    fixture.ssh("kill -9 $$");
    CHECK(message(fixture.ask({{"a", "", {}}})[0]).find("failed: status 9") != std::string::npos);
  }
  SECTION("prints without end") {
    fixture.ssh("echo hostname h; echo port 22; yes | head -c 30000000");
    CHECK(fixture.ask({{"a", "", {}}})[0]->hostname == "h");
  }
  SECTION("leaves a child behind that holds its output") {
    fixture.ssh("echo hostname h; echo port 22; sleep 5 &");
    CHECK(fixture.ask({{"a", "", {}}})[0]->hostname == "h");
  }
}
