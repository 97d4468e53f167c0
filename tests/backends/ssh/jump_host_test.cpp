// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// The server is its own jump host, under another name.
struct JumpFixture : SshFixture {
  explicit JumpFixture(const std::string& server_options = "", const std::string& gate_options = "")
      : SshFixture(server_options) {
    const std::string port = std::to_string(server.port());
    configure("Host 127.0.0.1\n  ProxyJump gate\nHost gate\n  HostName 127.0.0.1\n" + gate_options +
              "  Port " + port + "\nHost *\n  IdentityFile " +
              (server.launcher_home() / ".ssh/id_ed25519").string() + "\n  UserKnownHostsFile " +
              server.known_hosts().string() + "\n");
  }

  std::size_t logins() const {
    std::size_t count = 0;
    const std::string text = server.log();
    for (auto at = text.find("Accepted publickey"); at != text.npos;
         at = text.find("Accepted publickey", at + 1))
      ++count;
    return count;
  }
};

// A loopback port where connections are neither taken nor refused: the kernel's queue is full.
class FullListener {
 public:
  FullListener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    for (int& fd : fds_) fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::bind(fds_[0], any, size) != 0 || ::listen(fds_[0], 0) != 0 ||
        ::getsockname(fds_[0], any, &size) != 0)
      throw std::runtime_error("no listener");
    port_ = ntohs(address.sin_port);
    for (std::size_t i = 1; i < fds_.size(); ++i) (void)::connect(fds_[i], any, size);
  }
  ~FullListener() {
    for (const int fd : fds_) ::close(fd);
  }
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;
  int port() const { return port_; }

 private:
  std::array<int, 4> fds_{};
  int port_ = 0;
};

bool is_settled(const LinkProbe& probe) { return probe.opened || probe.closed; }

}  // namespace

TEST_CASE("a megabyte goes to a host behind a jump host and comes back") {
  REQUIRE_SSHD();
  JumpFixture fixture;
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  probe.link->send("first ");
  loop_until(fixture.loop, [&] { return is_settled(probe); });
  INFO(probe.error() << fixture.server.log());
  REQUIRE(probe.opened == 1);
  CHECK(probe.info.address == "127.0.0.1");
  CHECK(probe.info.transport == "ssh");
  CHECK(probe.info.own_address.empty());
  CHECK(probe.info.likely_own_address == "127.0.0.1");  // as the jump host sees it
  expect_echo(probe, megabyte_of_noise());
}

TEST_CASE("many hosts behind a jump host take one login there, and their megabytes do not mix") {
  REQUIRE_SSHD();
  JumpFixture fixture("MaxSessions 1\n");
  SshTransport transport(fixture.loop, fixture.options);
  std::vector<std::unique_ptr<LinkProbe>> probes;
  for (int i = 0; i < 12; ++i)
    probes.push_back(std::make_unique<LinkProbe>(fixture.loop, transport, fixture.host));
  const auto all = [&](const auto& predicate) {
    return std::all_of(probes.begin(), probes.end(),
                       [&](const auto& probe) { return predicate(*probe) || probe->closed; });
  };
  loop_until(fixture.loop, [&] { return all(is_settled); });
  for (const auto& probe : probes) {
    INFO(probe->error() << fixture.server.log());
    REQUIRE(probe->opened == 1);
  }
  CHECK(fixture.logins() == 13);
  const std::string noise = megabyte_of_noise();
  for (std::size_t i = 0; i < probes.size(); ++i) probes[i]->link->send(std::to_string(i) + noise);
  const auto expected = [&](std::size_t i) { return "agent t-0\n" + std::to_string(i) + noise; };
  loop_until(fixture.loop, [&] {
    return all([&](const LinkProbe& probe) { return probe.bytes.size() >= noise.size() + 11; });
  });
  for (std::size_t i = 0; i < 10; ++i) CHECK((probes[i]->bytes == expected(i)));
  // Those that stay do not miss those that go.
  probes.erase(probes.begin(), probes.begin() + 11);
  probes[0]->bytes.clear();
  probes[0]->link->send("still here");
  loop_until(fixture.loop, [&] { return probes[0]->bytes == "still here" || probes[0]->closed; });
  CHECK(probes[0]->bytes == "still here");
}

TEST_CASE("a link behind a jump host that its owner drops, at any moment, says nothing more") {
  REQUIRE_SSHD();
  JumpFixture fixture;
  SshTransport transport(fixture.loop, fixture.options);
  for (const int after : {1, 5, 10, 20, 30, 40, 60, 80, 120}) {  // somewhere in the set-up
    LinkProbe stays(fixture.loop, transport, fixture.host);
    LinkProbe probe(fixture.loop, transport, fixture.host);
    const auto drop = fixture.loop.after(after * 1ms, [&] {
      probe.link.reset();
      fixture.loop.stop();
    });
    CHECK(loop_until(fixture.loop, [&] { return probe.link == nullptr; }));
    CHECK_FALSE(probe.closed);
    CHECK(loop_until(fixture.loop, [&] { return is_settled(stays); }));
    INFO(stays.error());
    CHECK(stays.opened == 1);
  }
}

TEST_CASE("a jump host that fails is tried once for all behind it") {
  REQUIRE_SSHD();
  JumpFixture fixture("", "  User nobody-at-all\n");
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe first(fixture.loop, transport, fixture.host),
      second(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return first.closed && second.closed; }));
  LinkProbe late(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return late.closed.has_value(); }));
  CHECK(contains(first.error(),
                 "its jump host 'gate': authentication failed for user nobody-at-all"));
  CHECK(second.error() == first.error());
  CHECK(late.error() == first.error());
  const std::string log = fixture.server.log();
  const auto found = log.find("Connection from");
  CHECK(found != std::string::npos);
  CHECK(log.find("Connection from", found + 1) == std::string::npos);
}

TEST_CASE("a jump host that is lost ends the links behind it with the reason") {
  REQUIRE_SSHD();
  JumpFixture fixture;
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe first(fixture.loop, transport, fixture.host),
      second(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return first.opened && second.opened; }));
  // The jump host's session is the first one that the server made.
  output_of(
      "kill $(pgrep -o -P $(pgrep -f '[s]shd.*-f.*" +
      (fixture.server.known_hosts().parent_path().parent_path().parent_path() / "config").string() +
      "'))");
  CHECK(loop_until(fixture.loop, [&] { return first.closed && second.closed; }));
  CHECK(contains(first.error(), "its jump host 'gate': the connection to 127.0.0.1:"));
  CHECK(second.error() == first.error());
}

TEST_CASE("a jump host that may not forward says so") {
  REQUIRE_SSHD();
  JumpFixture fixture("AllowTcpForwarding no\n");
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "its jump host 'gate' forwards no connections"));
}

TEST_CASE("a port that the jump host cannot connect to is told") {
  REQUIRE_SSHD();
  JumpFixture fixture;
  const HeldPort closed;
  fixture.host.port = closed.number();
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "its jump host 'gate' cannot connect to 127.0.0.1:" +
                                    std::to_string(*fixture.host.port)));
}

TEST_CASE("many silent hosts behind a jump host keep no other from being reached") {
  REQUIRE_SSHD();
  JumpFixture fixture;
  const FullListener silent;
  Host silent_host = fixture.host;
  silent_host.port = silent.port();
  const auto limit = std::chrono::ceil<std::chrono::seconds>(patience(2s));  // the last one's, too
  fixture.options.connect_timeout = limit;
  fixture.options.jump_patience = 50ms;
  SshTransport transport(fixture.loop, fixture.options);
  std::vector<std::unique_ptr<LinkProbe>> probes;
  for (int i = 0; i < 20; ++i)
    probes.push_back(std::make_unique<LinkProbe>(fixture.loop, transport, silent_host));
  LinkProbe last(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return is_settled(last); }));
  INFO(last.error());
  CHECK(last.opened == 1);
  CHECK(loop_until(fixture.loop, [&] {
    return std::all_of(probes.begin(), probes.end(),
                       [](const auto& probe) { return probe->closed.has_value(); });
  }));
  for (const auto& probe : probes)
    CHECK(contains(probe->error(), "its jump host 'gate' got no answer from 127.0.0.1:" +
                                       std::to_string(silent.port()) + " within " +
                                       std::to_string(limit.count()) + " s"));
  CHECK_FALSE(last.closed);
}

TEST_CASE("what keeps libssh2 from a jump host is told in full to those who come late") {
  REQUIRE_SSHD();
  JumpFixture fixture("", "  ProxyCommand /usr/bin/nc %h %p\n");
  SshTransport transport(fixture.loop, fixture.options);
  for (int i = 0; i < 3; ++i) {
    LinkProbe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(probe.error() ==
          "it can be reached by OpenSSH's own client only: its jump host 'gate': ssh's "
          "configuration has ProxyCommand '/usr/bin/nc %h %p' for it\n"
          "  take 'transport: openssh' for it, or write 'ProxyCommand none' for this host, if it "
          "can be reached without");
  }
}

TEST_CASE("a jump host that leads to itself is found out") {
  REQUIRE_SSHD();
  SshFixture fixture;
  fixture.configure(
      "Host 127.0.0.1\n  ProxyJump a\nHost a\n  ProxyJump b\nHost b\n  ProxyJump a\n");
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "ProxyJump goes round in a circle"));
}
