// SPDX-License-Identifier: Apache-2.0
// The transport with a script in the place of ssh.
#include "backends/openssh/openssh_transport.hpp"

#include <signal.h>

#include <algorithm>

#include "tests/backends/openssh/openssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

const std::string logged_in =
    "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2\n"
    "echo 'debug1: Connection established.' >&2\n"
    "echo 'debug1: Server host key: ssh-ed25519 SHA256:8zSL' >&2\n"
    "echo 'Authenticated to gpu-x ([10.77.1.3]:22) using \"publickey\".' >&2\n";
// What sshd does with the command.
const std::string run_command = "exec /bin/sh -c \"$command\"\n";

// Whether that process is there and no zombie.
bool is_running(const std::string& pid) {
  std::string status = read_file("/proc/" + pid + "/stat");
  return !status.empty() && status.find(") Z ") == std::string::npos;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("the binary is shipped once, then run from the cache, and a megabyte comes back") {
  OpensshFixture fixture;
  fixture.fake_ssh(
      "echo motd; echo warning >&2; export SSH_CONNECTION='127.0.0.1 1 10.9.9.9 22'\n" + logged_in +
      run_command);
  const std::string megabyte = megabyte_of_noise();
  for (int i = 0; i < 2; ++i) {
    OpensshTransport transport(fixture.loop, fixture.options);
    LinkProbe probe(fixture.loop, transport, fixture.host);
    probe.link->send("first ");
    CHECK(probe.link->unsent_bytes() == 6);
    loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
    INFO(probe.error());
    REQUIRE(probe.opened == 1);
    CHECK(probe.info.transport == "openssh");
    CHECK(probe.info.own_address == "127.0.0.1");
    expect_echo(probe, megabyte);
    CHECK(read_file(fixture.cached_agent()) == fake_binary);
    // A second upload would fail.
    fixture.options.agent.packed = SharedBytes("no gzip");
  }
}

TEST_CASE("a host behind a proxy tells its own address, one behind a pipe only has its name") {
  OpensshFixture fixture;
  std::string connection;
  std::string address;
  SECTION("proxy") {
    connection = "10.66.6.6 40000 10.9.9.9 22";
    address = "10.9.9.9";
  }
  SECTION("pipe") {
    connection = "UNKNOWN 65535 UNKNOWN 65535";
    address = "gpu-x";
  }
  fixture.fake_ssh("echo 'debug1: Executing proxy command: exec nc' >&2\nexport SSH_CONNECTION='" +
                   connection + "'\n" + run_command);
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.opened; }));
  CHECK(probe.info.address == address);
  CHECK(probe.info.own_address.empty());  // the other end is somebody else's
}

TEST_CASE("ssh sees the arguments of the host, the environment it needs, and no terminal") {
  OpensshFixture fixture;
  fixture.fake_ssh(
      "printf '%s\\n' \"$@\" >$here/arguments; env >$here/environment\n"
      "ls -l /proc/self/fd | grep -c -- '->' >$here/descriptors\n"
      "ps -o tty= -p $$ >$here/terminal\nexit 255");
  fixture.host.port = 2222;
  fixture.host.user = "me";
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(fixture.file("arguments"), "\n-p\n2222\n-l\nme\n--\ngpu-x\nexec /bin/sh -c "));
  CHECK(contains(fixture.file("environment"), "HOME=" + fixture.home().string()));
  CHECK_FALSE(contains(fixture.file("environment"), "SECRET"));
  CHECK(fixture.file("descriptors") == "4\n");  // the standard three and the folder that ls reads
  CHECK(fixture.file("terminal") == "?\n");
}

TEST_CASE("what ssh says of a failure is told with its cause, and what may pass is tried again") {
  OpensshFixture fixture;
  const std::string connect =
      "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2\n"
      "echo try >>$here/tries\n";
  std::string said;
  std::string expected;
  int tries = 1;
  SECTION("refused three times") {
    said = "ssh: connect to host gpu-x port 22: Connection refused";
    expected = "connection refused at 10.77.1.3:22 (tried 3 times)\n";
    tries = 3;
  }
  SECTION("no route") {
    said = "ssh: connect to host gpu-x port 22: No route to host";
    expected = "no route to 10.77.1.3:22\n";
  }
  SECTION("permission denied") {
    said = "me@gpu-x: Permission denied (publickey).";
    expected =
        "authentication failed at 10.77.1.3:22: no key was offered (the host takes "
        "publickey)\n";
  }
  fixture.fake_ssh(connect + "echo '" + said + "' >&2; exit 255");
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(probe.closed->error_class == ErrorClass::host);
  CHECK(probe.error().find(expected) == 0);
  CHECK(fixture.file("tries").size() == 4u * static_cast<unsigned>(tries));
  CHECK_FALSE(probe.opened);
}

TEST_CASE("an overrun server is tried again until it serves") {
  OpensshFixture fixture;
  fixture.fake_ssh(
      "echo try >>$here/tries\n"
      "[ $(wc -l <$here/tries) -ge 3 ] || {\n"
      "echo 'kex_exchange_identification: Connection closed by remote host' >&2; exit 255; }\n" +
      run_command);
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error());
  CHECK(probe.opened == 1);
  CHECK(fixture.file("tries") == "try\ntry\ntry\n");
}

TEST_CASE("a machine without ssh says so, and what to install") {
  OpensshFixture fixture;
  fixture.options.search_path = "/nowhere:" + (fixture.folder.path() / "bin").string();
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(probe.closed->error_class == ErrorClass::missing);
  CHECK(contains(probe.error(), "'ssh'"));
  CHECK(contains(probe.error(), "openssh-client"));
}

TEST_CASE("every stage has its own deadline, and the ssh process goes with it") {
  OpensshFixture fixture;
  fixture.options.connect_timeout = fixture.options.login_timeout = fixture.options.start_timeout =
      1s;
  std::string log;
  std::string expected;
  SECTION("start") { expected = "gpu-x was silent for 3 s before it was connected to"; }
  SECTION("connect") {
    log = "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2\n";
    expected = "no answer from 10.77.1.3:22 within 1 s";
  }
  SECTION("key exchange") {
    log =
        "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2\n"
        "echo 'debug1: Connection established.' >&2\n";
    expected = "10.77.1.3:22 was silent for 1 s during the key exchange";
  }
  SECTION("shell") {
    log = logged_in;
    expected = "10.77.1.3:22 was silent for 1 s while the agent was being started";
  }
  SECTION("shell that prints a line without end") {
    log = logged_in + "printf 'wait for me' >&2\n";
    expected = "was not done after 1 s while the agent was being started; it said 'wait for me'";
  }
  // Also one that asking does not end, and what it has started.
  fixture.fake_ssh("trap '' TERM\nsleep 4712 &\necho $! >$here/grandchild\necho $$ >$here/child\n" +
                   log + "while :; do sleep 4712; done");
  std::optional<OpensshTransport> transport(std::in_place, fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, *transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), expected));
  REQUIRE(is_running(first_line(fixture.file("child"))));
  probe.link.reset();
  transport.reset();
  CHECK_FALSE(is_running(first_line(fixture.file("child"))));
  CHECK(loop_until(fixture.loop, [&] {  // its end is the kernel's business, and init's
    return !is_running(first_line(fixture.file("grandchild")));
  }));
}

TEST_CASE("a ConnectTimeout that is longer than a stage of ours is waited for") {
  OpensshFixture fixture;
  fixture.options.connect_timeout = fixture.options.login_timeout = 50ms;
  // What the stand-in says comes within it.
  const auto limit = std::chrono::ceil<std::chrono::seconds>(patience(1s));
  fixture.options.settings_of = [limit](const Host&, const auto& on_settings) {
    on_settings(HostSettings{.server = "a server", .connect_timeout = limit});
  };
  std::string expected;
  SECTION("connect") {  // 1 s after ssh itself should have ended
    expected = "no answer from 10.77.1.3:22 within " + std::to_string(limit.count() + 1) + " s";
    fixture.fake_ssh(
        "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2; exec sleep 4712");
  }
  SECTION("key exchange and login") {
    expected = "10.77.1.3:22 was silent for " + std::to_string(limit.count()) +
               ".025 s during the key exchange";
    fixture.fake_ssh(
        "echo 'debug1: Connecting to gpu-x [10.77.1.3] port 22.' >&2\n"
        "echo 'debug1: Connection established.' >&2; exec sleep 4712");
  }
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), expected));
}

TEST_CASE("settings that cannot be told end the link before ssh is started") {
  OpensshFixture fixture;
  fixture.fake_ssh("echo started >$here/started");
  fixture.options.settings_of = [](const Host& host, const auto& on_settings) {
    on_settings(fail(ErrorClass::host, "line 2 of the configuration of " + host.name));
  };
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(probe.error() == "line 2 of the configuration of gpu-x");
  CHECK_FALSE(fixture.has_file("started"));
}

TEST_CASE("a new key that ssh was allowed to accept is said, in the words of the other transport") {
  OpensshFixture fixture;
  std::vector<std::string> said;
  fixture.options.print = [&](const std::string& line) { said.push_back(line); };
  fixture.options.settings_of = [](const Host&, const auto& on_settings) {
    on_settings(HostSettings{.server = "a server",
                             .new_host_key = NewHostKey::accepted,
                             .known_hosts_file = "/home/me/.ssh/known_hosts"});
  };
  fixture.fake_ssh(
      "printf '%s\\n' \"$@\" | grep StrictHostKey >>$here/strict\n"
      "echo 'debug1: Server host key: ssh-ed25519 SHA256:8zSL' >&2\n"
      "echo \"Warning: Permanently added 'gpu-x' (ED25519) to the list of known hosts.\" >&2\n" +
      logged_in + run_command);
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error());
  CHECK(probe.opened == 1);
  CHECK(fixture.file("strict") == "StrictHostKeyChecking=accept-new\n");
  CHECK(said == std::vector<std::string>{"the host key of gpu-x is new and was added to "
                                         "/home/me/.ssh/known_hosts: ssh-ed25519 SHA256:8zSL"});
}

TEST_CASE("a new key that is accepted for 'StrictHostKeyChecking no' is warned of once") {
  OpensshFixture fixture;
  std::vector<std::string> said;
  fixture.options.print = [&](const std::string& line) { said.push_back(line); };
  fixture.options.settings_of = [](const Host&, const auto& on_settings) {
    on_settings(HostSettings{.server = "a server", .new_host_key = NewHostKey::accepted_for_no});
  };
  bool is_new = false;
  SECTION("new key") { is_new = true; }
  SECTION("known key") {}
  fixture.fake_ssh(
      std::string("echo 'debug1: Server host key: ssh-ed25519 SHA256:8zSL' >&2\n") +
      (is_new ? "echo \"Warning: Permanently added 'gpu-x' (ED25519) to the list of known hosts.\" "
                ">&2\n"
              : "") +
      logged_in + run_command);
  OpensshTransport transport(fixture.loop, fixture.options);
  for (int i = 0; i < 2; ++i) {
    LinkProbe probe(fixture.loop, transport, fixture.host);
    REQUIRE(loop_until(fixture.loop, [&] { return probe.opened || probe.closed; }));
    CHECK(probe.opened == 1);
  }
  CHECK(std::count(said.begin(), said.end(), strict_no_warning) == (is_new ? 1 : 0));
  CHECK(said.size() == (is_new ? 3u : 0u));
}

TEST_CASE("a host that prints without end before it answers is cut off") {
  OpensshFixture fixture;
  fixture.fake_ssh("echo $$ >$here/child\nexec yes garbage");
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "the host printed more than 64 KiB before it answered"));
  // The loop itself collects it, while the transport lives.
  CHECK(loop_until(fixture.loop, [&] { return !is_running(first_line(fixture.file("child"))); }));
}

TEST_CASE("how the agent, the shell or ssh itself ended is told, with the last words") {
  OpensshFixture fixture;
  OpensshTransport transport(fixture.loop, fixture.options);
  SECTION("agent") {
    fixture.fake_ssh(logged_in + run_command);
    LinkProbe failed(fixture.loop, transport, fixture.host, "exit-3");
    CHECK(loop_until(fixture.loop, [&] { return failed.closed.has_value(); }));
    CHECK(failed.error() == "the agent exited with status 3; it said 'oh dear'");
    CHECK(failed.bytes == "agent exit-3\n");
  }
  SECTION("ssh killed") {
    fixture.fake_ssh("echo $$ >$here/child\n" + logged_in + run_command);
    LinkProbe probe(fixture.loop, transport, fixture.host);
    REQUIRE(loop_until(fixture.loop, [&] { return probe.opened; }));
    ::kill(std::stoi(fixture.file("child")), SIGKILL);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(), "the ssh process to 10.77.1.3:22 was killed by signal KILL"));
  }
  SECTION("connection lost") {
    fixture.fake_ssh(logged_in +
                     "/bin/sh -c \"$command\" </dev/null\n"
                     "echo 'client_loop: send disconnect: Broken pipe' >&2; exit 255");
    LinkProbe probe(fixture.loop, transport, fixture.host, "exit-3");
    // The binary is there already.
    std::filesystem::create_directories(fixture.cached_agent().parent_path());
    write_file(fixture.cached_agent(), fake_binary);
    std::filesystem::permissions(fixture.cached_agent(), std::filesystem::perms::owner_all);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(), "the connection to 10.77.1.3:22 was lost; ssh said"));
    CHECK(contains(probe.error(), "Broken pipe"));
  }
  SECTION("shell") {
    fixture.fake_ssh(logged_in + "echo this account is not available; exit 1");
    LinkProbe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(),
                   "exited with status 1 before the agent was ready; it printed "
                   "'this account is not available'"));
  }
}

TEST_CASE("what was sent last gets through before ssh has to go") {
  OpensshFixture fixture;
  fixture.fake_ssh(logged_in + "echo $$ >$here/child\n" + run_command);
  fixture.options.agent =
      packed_agent("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho agent\ncat >" +
                   (fixture.folder.path() / "heard").string() + "\n");
  std::optional<OpensshTransport> transport(std::in_place, fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, *transport, fixture.host);
  REQUIRE(loop_until(fixture.loop, [&] { return !probe.bytes.empty(); }));
  const std::string words(100'000, 'w');
  probe.link->send(words);
  probe.link.reset();
  transport.reset();
  CHECK((fixture.file("heard") == words));
  CHECK_FALSE(is_running(first_line(fixture.file("child"))));
}

TEST_CASE("a link that its owner drops, at any moment, says nothing more and leaves no process") {
  OpensshFixture fixture;
  fixture.fake_ssh("echo $$ >>$here/children\n" + logged_in + run_command);
  std::optional<OpensshTransport> transport(std::in_place, fixture.loop, fixture.options);
  for (const int after : {0, 1, 3, 10, 30}) {
    LinkProbe probe(fixture.loop, *transport, fixture.host);
    const auto drop = fixture.loop.after(after * 1ms, [&] {
      probe.link.reset();
      fixture.loop.stop();
    });
    CHECK(loop_until(fixture.loop, [&] { return probe.link == nullptr; }));
    CHECK_FALSE(probe.closed);
  }
  transport.reset();
  std::istringstream children(fixture.file("children"));
  for (std::string pid; std::getline(children, pid);) CHECK_FALSE(is_running(pid));
}

TEST_CASE("no more logins are under way than the window allows") {
  OpensshFixture fixture;
  fixture.fake_ssh(logged_in + run_command);
  const auto window = std::make_shared<SetupWindow>(fixture.loop, 1);
  OpensshTransport one(fixture.loop, fixture.options, window);
  OpensshTransport other(fixture.loop, fixture.options, window);
  LinkProbe first(fixture.loop, one, fixture.host), second(fixture.loop, other, fixture.host);
  // Which of them is first depends on whose program is found first.
  CHECK(loop_until(fixture.loop, [&] { return first.opened || second.opened; }));
  CHECK(first.opened + second.opened == 1);
  CHECK(loop_until(fixture.loop, [&] { return first.opened && second.opened; }));
}

TEST_CASE("hosts on one way, behind one jump host, have their turns also at the first try") {
  OpensshFixture fixture;
  fixture.fake_ssh(logged_in + run_command);
  fixture.options.settings_of = [](const Host& host, const auto& on_settings) {
    on_settings(HostSettings{.server = host.name == "gpu-z" ? "gpu-z:22" : "through gate"});
  };
  const auto window = std::make_shared<SetupWindow>(fixture.loop, 128, 1);
  OpensshTransport transport(fixture.loop, fixture.options, window);
  Host other = fixture.host, elsewhere = fixture.host;
  other.name = "gpu-y";
  elsewhere.name = "gpu-z";
  LinkProbe first(fixture.loop, transport, fixture.host), second(fixture.loop, transport, other),
      third(fixture.loop, transport, elsewhere);
  bool did_wait = true;
  REQUIRE(loop_until(fixture.loop, [&] {
    did_wait = did_wait && (first.opened || !second.opened);
    return first.opened && third.opened;
  }));
  CHECK(did_wait);
  CHECK(loop_until(fixture.loop, [&] { return second.opened; }));
}
