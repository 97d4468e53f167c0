// SPDX-License-Identifier: Apache-2.0
#include "backends/command/command_transport.hpp"

#include "tests/backends/link/link_probe.hpp"
#include "tests/backends/link/packed_agent.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

struct CommandFixture {
  CommandFixture() {
    host.name = "gpu-x";
    host.address = "10.9.9.9";
    host.transport = TransportKind::command;
    host.command = {"env", "AT={host}"};
    std::filesystem::create_directories(home());
    options.search_path = "/usr/bin:/bin";
    options.environment = {"HOME=" + home().string(), "PATH=/usr/bin:/bin", "MINE=yes"};
    options.agent = packed_agent(fake_binary);
  }

  std::filesystem::path home() const { return folder.path() / "home"; }
  // A command of one shell script, which has the bootstrap as its $1.
  void run_script(const std::string& script) {
    host.command = {"sh", "-c", script, "{host}", "{command}"};
  }
  std::unique_ptr<LinkProbe> reach(const std::string& key = "t-0") {
    transport =
        std::make_unique<CommandTransport>(loop, options, std::make_shared<SetupWindow>(loop, 8));
    auto probe = std::make_unique<LinkProbe>(loop, *transport, host, key);
    return probe;
  }
  std::unique_ptr<LinkProbe> fail_to_reach(const std::string& key = "t-0") {
    auto probe = reach(key);
    REQUIRE(loop_until(loop, [&] { return probe->closed.has_value(); }));
    CHECK(probe->closed->error_class == ErrorClass::host);
    return probe;
  }

  TemporaryFolder folder;
  Loop loop;
  CommandOptions options;
  Host host;
  std::unique_ptr<CommandTransport> transport;
};

}  // namespace

TEST_CASE("the words of a command are filled in once, and a shell is appended") {
  Host host;
  host.name = "{user}";
  host.address = "10.1.1.1";
  host.user = "me";
  host.command = {"kubectl", "exec", "-i", "{host}", "{{.Go}}", "{user}@{address}", "--"};
  CHECK(command_arguments(host, "LINE") ==
        std::vector<std::string>{"kubectl", "exec", "-i", "{user}", "{{.Go}}", "me@10.1.1.1", "--",
                                 "/bin/sh", "-c", "LINE"});
  host.command = {"rsh", "{host}", "exec {command}"};
  CHECK(command_arguments(host, "LINE") == std::vector<std::string>{"rsh", "{user}", "exec LINE"});
}

TEST_CASE("srun gets no options, jobs or devices from variables, other commands get all") {
  using Environment = std::vector<std::string>;
  const Environment environment{
      "PATH=/bin",       "SLURM_LABELIO=1",        "SLURM_CONF=/etc/s.conf",
      "SRUN_DEBUG=3",    "CUDA_VISIBLE_DEVICES=2", "ROCR_VISIBLE_DEVICES=2",
      "CUDA_HOME=/cuda", "MODULE=loaded"};
  const Environment clean{"PATH=/bin", "SLURM_CONF=/etc/s.conf", "CUDA_HOME=/cuda",
                          "MODULE=loaded"};
  CHECK(environment_for("/usr/bin/srun", environment) == clean);
  CHECK(environment_for("srun", environment) == clean);
  CHECK(environment_for("/usr/bin/docker", environment) == environment);
}

TEST_CASE("a command ships the binary once, and a megabyte comes back") {
  CommandFixture fixture;
  SECTION("words are executed as they are") {}
  SECTION("a shell executes the line") {
    fixture.run_script("echo motd; echo warning >&2; [ \"$MINE\" = yes ] && eval \"$1\"");
  }
  const std::string megabyte = megabyte_of_noise();
  for (int i = 0; i < 2; ++i) {
    const auto probe = fixture.reach();
    probe->link->send("first ");
    loop_until(fixture.loop, [&] { return probe->opened || probe->closed; });
    INFO(probe->error());
    REQUIRE(probe->opened == 1);
    CHECK(probe->info.transport == "command");
    CHECK(probe->info.address == "10.9.9.9");
    expect_echo(*probe, megabyte);
    // A second upload would fail.
    fixture.options.agent.packed = SharedBytes("no gzip");
  }
}

TEST_CASE("a command that ends early is told with what it said, and how to try it") {
  CommandFixture fixture;
  SECTION("on standard error") { fixture.run_script("echo no such pod >&2; exit 4"); }
  SECTION("on standard output") { fixture.run_script("echo no such pod; exit 4"); }
  CHECK(contains(fixture.fail_to_reach()->error(),
                 "gpu-x ...' exited with status 4 before the agent was ready; it said 'no such "
                 "pod'"));
}

TEST_CASE("an agent that ends, and a command that is killed, are lost connections") {
  CommandFixture fixture;
  CHECK(contains(fixture.fail_to_reach("exit-3")->error(),
                 "the connection by 'env AT=gpu-x /bin/sh -c ...' exited with status 3; it said "
                 "'oh dear'"));
  CHECK(contains(fixture.fail_to_reach("killed")->error(), "was killed by signal KILL"));
}

TEST_CASE("a silent command has a limit") {
  CommandFixture fixture;
  fixture.options.start_timeout = 50ms;
  fixture.run_script("exec sleep 4711");
  CHECK(contains(fixture.fail_to_reach()->error(),
                 "was silent for 0.05 s while the agent was being started"));
}

TEST_CASE("a program that is not there is told before it is started") {
  CommandFixture fixture;
  fixture.host.command = {"nsenterr", "{host}"};
  const auto probe = fixture.reach();
  REQUIRE(loop_until(fixture.loop, [&] { return probe->closed.has_value(); }));
  CHECK(probe->closed->error_class == ErrorClass::missing);
  CHECK(contains(probe->error(), "nsenterr"));
  CHECK(contains(probe->error(), "transport: {command: [...]}"));
}
