// SPDX-License-Identifier: Apache-2.0
// What is slow on this machine: ssh-agent, whoever confirms its keys, and the disk.
#include <sys/un.h>

#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// An ssh-agent that asks a person before it signs: one that says yes once a file `confirm` is
// there, and no once there is `refuse`.
struct ConfirmedKey {
  ConfirmedKey() {
    const auto person = folder.path() / "person";
    write_file(
        person,
        "#!/bin/sh\ncd '" + folder.path().string() +
            "'\ntouch asked\nuntil [ -e confirm ]; do\n[ ! -e refuse ] && [ -e asked ] || exit 1\n"
            "sleep 0.05; done\n");
    std::filesystem::permissions(person, std::filesystem::perms::owner_all);
    socket = (folder.path() / "agent").string();
    agent.emplace(
        std::vector<std::string>{"/usr/bin/env", "DISPLAY=:99", "SSH_ASKPASS=" + person.string(),
                                 "SSH_ASKPASS_REQUIRE=force", "ssh-agent", "-D", "-a", socket},
        "/");
    REQUIRE_FALSE(agent->read().empty());
    key = make_key(folder.path() / "confirmed", "-t ed25519");
    output_of("SSH_AUTH_SOCK=" + socket + " ssh-add -q -c " + key + " 2>&1");
  }
  bool is_asked() const { return std::filesystem::exists(folder.path() / "asked"); }
  void print(const std::string& word) const { write_file(folder.path() / word, ""); }

  TemporaryFolder folder;
  std::string socket;
  std::string key;
  std::optional<ShellDialogue> agent;
};

struct ConfirmFixture : SshFixture {
  ConfirmFixture() : other_key(make_key(folder.path() / "other", "-t ed25519")) {
    server.authorize(confirmed.key);
    server.authorize(other_key);
    options.logins = std::make_shared<Logins>(Credentials{confirmed.socket});
    host.identity_file = confirmed.key + ".pub";
    other = host;
    other.name = "other";
    other.identity_file = other_key;
  }
  ConfirmedKey confirmed;
  std::string other_key;
  Host other;
};

}  // namespace

TEST_CASE(
    "a key that a person confirms has its time, is told of, and keeps no other host waiting") {
  REQUIRE_SSHD();
  ConfirmFixture fixture;
  fixture.options.login_timeout = 3s;  // which is not what counts
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  const auto comes = [&](const auto& condition) { return loop_until(fixture.loop, condition); };
  CHECK(comes([&] { return fixture.confirmed.is_asked() || probe.closed; }));
  const Instant asked = fixture.loop.now();
  LinkProbe other(fixture.loop, transport, fixture.other);
  CHECK(comes([&] { return other.opened || other.closed; }));
  CHECK(other.opened == 1);
  CHECK(comes([&] { return !fixture.said.empty() || probe.closed; }));
  CHECK(comes([&] {
    return fixture.loop.now() > asked + fixture.options.login_timeout + 200ms || probe.closed;
  }));
  CHECK(probe.opened == 0);
  fixture.confirmed.print("confirm");
  CHECK(comes([&] { return probe.opened || probe.closed; }));
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.opened == 1);
  REQUIRE(fixture.said.size() == 1);
  CHECK(contains(fixture.said[0], "waiting for ssh-agent's key 'test' to sign for gpu-x"));
}

TEST_CASE("a key that nobody confirms is given up, and one that is refused is refused") {
  REQUIRE_SSHD();
  ConfirmFixture fixture;
  std::string reason;
  SECTION("nobody is there") {
    fixture.options.agent_patience = 2s;
    reason = "gave no valid answer within 2 s";
  }
  SECTION("they say no") {
    fixture.confirmed.print("refuse");
    reason = "refused to sign with ssh-agent's key 'test'";
  }
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  // The default identity, which comes after it, is not one that the server takes.
  write_file(fixture.server.authorized_keys(), public_line(fixture.confirmed.key) + "\n");
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), reason));
  fixture.confirmed.print("refuse");
}

TEST_CASE("a server that loses patience while a key is confirmed is named") {
  REQUIRE_SSHD();
  ConfirmFixture fixture;
  SshServer impatient("LoginGraceTime 1\n");
  Host host = fixture.host;
  host.port = impatient.port();
  impatient.authorize(fixture.confirmed.key);
  fixture.options.known_hosts_files = {impatient.known_hosts().string()};
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "while ssh-agent's key 'test' was waited for to sign"));
  CHECK(contains(probe.error(), "LoginGraceTime"));
  fixture.confirmed.print("refuse");
}

TEST_CASE("a launch that is given up does not wait for an agent that hangs") {
  REQUIRE_SSHD();
  ConfirmFixture fixture;
  fixture.options.agent_patience = 1h;
  {
    SshTransport transport(fixture.loop, fixture.options);
    LinkProbe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return fixture.confirmed.is_asked(); }));
  }
  SUCCEED("the transport has gone although nobody has confirmed or refused");
  fixture.confirmed.print("refuse");
}

TEST_CASE("a known_hosts file that cannot be read in time is named, and blocks nothing") {
  TemporaryFolder folder;
  Loop loop;
  SshOptions options;
  options.known_hosts_files = {(folder.path() / "known_hosts").string()};
  options.config_deadline = 200ms;
  // To open it waits for somebody who writes, like a file on a server that is down.
  REQUIRE(::mkfifo(options.known_hosts_files[0].c_str(), 0600) == 0);
  Host host;
  host.name = "127.0.0.1";
  SshTransport transport(loop, options);
  LinkProbe probe(loop, transport, host);
  CHECK(loop_until(loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(),
                 "reading " + options.known_hosts_files[0] + " takes longer than 0.2 s"));
  // Lets the thread go.
  const int writer = ::open(options.known_hosts_files[0].c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ::close(writer);
}
