// SPDX-License-Identifier: Apache-2.0
// The transport with OpenSSH's own ssh and sshd.
#include "tests/backends/openssh/openssh_fixture.hpp"
#include "tests/backends/ssh/ssh_server.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

namespace {

struct ServerFixture : OpensshFixture {
  explicit ServerFixture(const std::string& server_options = "") : server(server_options) {
    configure("IdentityFile " + (server.launcher_home() / ".ssh/id_ed25519").string() + "\n");
    host.user = current_user();
    // ssh finds its configuration in the home of the user database, whatever $HOME says.
    fake_ssh("exec /usr/bin/ssh -F $here/config \"$@\"");
  }

  void configure(const std::string& lines) const {
    write_file(folder.path() / "config",
               "Host gpu-x\nHostName 127.0.0.1\nPort " + std::to_string(server.port()) +
                   "\nIdentitiesOnly yes\nUserKnownHostsFile " + server.known_hosts().string() +
                   "\nGlobalKnownHostsFile none\n" + lines);
  }

  SshServer server;
};

#define REQUIRE_OPENSSH()                                                \
  if (!SshServer::is_installed() || ::access("/usr/bin/ssh", X_OK) != 0) \
  SKIP_CASE("/usr/sbin/sshd or /usr/bin/ssh is not installed")

}  // namespace

TEST_CASE("an alias of ssh_config is reached, the binary shipped, and the address told") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  REQUIRE(probe.opened == 1);
  CHECK(probe.info.address == "127.0.0.1");
  CHECK(probe.info.own_address == "127.0.0.1");
  probe.link->send("hello");
  CHECK(loop_until(fixture.loop, [&] { return probe.bytes == "agent t-0\nhello"; }));
  CHECK(read_file(fixture.server.home() / (".cache/train/train-" + fixture.options.agent.name())) ==
        fake_binary);
}

TEST_CASE("configuration that would break a launch is overruled") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  fixture.configure("IdentityFile " +
                    (fixture.server.launcher_home() / ".ssh/id_ed25519").string() +
                    "\nRemoteCommand reboot\nRequestTTY force\nLocalCommand touch " +
                    (fixture.folder.path() / "local").string() +
                    "\nPermitLocalCommand yes\nLocalForward 1 localhost:1\nLogLevel QUIET\n"
                    "ControlMaster auto\nControlPersist yes\nControlPath " +
                    (fixture.folder.path() / "master").string() + "\n");
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  REQUIRE(probe.opened == 1);
  CHECK_FALSE(fixture.has_file("local"));
  CHECK_FALSE(fixture.has_file("master"));
}

TEST_CASE("how the agent ended comes back through ssh") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe failed(fixture.loop, transport, fixture.host, "exit-3");
  CHECK(loop_until(fixture.loop, [&] { return failed.closed.has_value(); }));
  CHECK(failed.error() == "the agent exited with status 3; it said 'oh dear'");
}

TEST_CASE("host keys are checked strictly, whatever ssh_config says") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  fixture.configure("IdentityFile " +
                    (fixture.server.launcher_home() / ".ssh/id_ed25519").string() +
                    "\nStrictHostKeyChecking no\n");
  TemporaryFolder folder;
  std::string expected;
  SECTION("unknown") {
    write_file(fixture.server.known_hosts(), "");
    expected = "is not known: ssh-ed25519 SHA256:";
  }
  SECTION("changed") {
    fixture.server.trust(public_line(make_key(folder.path() / "other", "-t ed25519")));
    expected = fixture.server.known_hosts().string() + ":2 has another";
  }
  const std::string before = read_file(fixture.server.known_hosts());
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), expected));
  CHECK_FALSE(contains(fixture.server.log(), "Accepted"));
  CHECK(read_file(fixture.server.known_hosts()) == before);
}

TEST_CASE("a new host key is added to known_hosts where the settings accept new ones") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  const std::string file = fixture.server.known_hosts().string();
  write_file(file, "");
  std::vector<std::string> said;
  fixture.options.print = [&](const std::string& line) { said.push_back(line); };
  fixture.options.settings_of = [&](const Host&, const auto& on_settings) {
    on_settings(HostSettings{
        .server = "a server", .new_host_key = NewHostKey::accepted, .known_hosts_file = file});
  };
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.opened == 1);
  CHECK(contains(read_file(file), "[127.0.0.1]:" + std::to_string(fixture.server.port())));
  REQUIRE(said.size() == 1);
  CHECK(contains(said[0], "is new and was added to " + file + ": ssh-ed25519 SHA256:"));
}

TEST_CASE("a key that the host does not know is named in the refusal") {
  REQUIRE_OPENSSH();
  ServerFixture fixture;
  TemporaryFolder folder;
  fixture.configure("IdentityFile " + make_key(folder.path() / "id_new", "-t ed25519") + "\n");
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "authentication failed for user " + current_user()));
  CHECK(contains(probe.error(), "tried " + (folder.path() / "id_new").string() + " ED25519"));
}

TEST_CASE("a certificate logs in that libssh2 could not show") {
  REQUIRE_OPENSSH();
  TemporaryFolder folder;
  const std::string authority = make_key(folder.path() / "ca", "-t ed25519");
  const std::string key = make_key(folder.path() / "id", "-t ed25519");
  output_of("ssh-keygen -q -s '" + authority + "' -I test -n " + current_user() + " '" + key +
            ".pub' 2>&1");
  ServerFixture fixture("TrustedUserCAKeys " + authority + ".pub\n");
  fixture.configure("IdentityFile " + key + "\nCertificateFile " + key + "-cert.pub\n");
  OpensshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.opened == 1);
}
