// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Stands in for the transport that takes over.
struct OtherTransport final : Transport {
  struct Link final : HostLink {
    explicit Link(OtherTransport& owner) : other(owner) {}
    ~Link() override { other.is_closed = true; }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    void send(std::string bytes) override { other.sent += bytes; }
    std::size_t unsent_bytes() const override { return 42; }
    OtherTransport& other;
  };
  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents link_events) override {
    opened = host.name + " " + call.key;
    events = std::move(link_events);
    loop.stop();
    return std::make_unique<Link>(*this);
  }
  explicit OtherTransport(Loop& event_loop) : loop(event_loop) {}
  Loop& loop;
  std::string opened, sent;
  LinkEvents events;
  bool is_closed = false;
};

using Probe = LinkProbe;
using Fixture = SshFixture;

}  // namespace

TEST_CASE("the binary is shipped once, then run from the cache, and a megabyte comes back") {
  REQUIRE_SSHD();
  Fixture fixture;
  const std::string megabyte = megabyte_of_noise();
  for (int i = 0; i < 2; ++i) {
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    probe.link->send("first ");
    CHECK(probe.link->unsent_bytes() == 6);
    loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
    INFO(probe.error() << fixture.server.log());
    REQUIRE(probe.opened == 1);
    CHECK(probe.info.address == "127.0.0.1");
    CHECK(probe.info.transport == "ssh");
    CHECK(probe.info.own_address == "127.0.0.1");
    expect_echo(probe, megabyte);
    const auto cached =
        fixture.server.home() / (".cache/train/train-" + fixture.options.agent.name());
    CHECK(read_file(cached) == fake_binary);
    // A second upload would fail.
    fixture.options.agent.packed = SharedBytes("no gzip");
  }
}

TEST_CASE("a login shell that does not come to an end is told, with what it said") {
  REQUIRE_SSHD();
  const auto [shell, how, said] = GENERATE(table<std::string, std::string, std::string>(
      {{"exec sleep 60", "was silent for", ""},
       {"echo wait for me >&2; exec sleep 60", "was not done after", "; it said 'wait for me'"},
       {"echo hello; exec sleep 60", "was not done after", "; it said 'hello'"}}));
  Fixture fixture("ForceCommand " + shell + "\n");
  const auto limit = std::chrono::ceil<std::chrono::seconds>(patience(2s));  // it starts meanwhile
  fixture.options.start_timeout = limit;
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(
      fixture.loop, [&] { return probe.closed.has_value(); }, 20s));
  CHECK(contains(probe.error(), how + " " + std::to_string(limit.count()) +
                                    " s while the agent was being started" + said));
}

TEST_CASE("how the agent ended is told, with its last words") {
  REQUIRE_SSHD();
  Fixture fixture;
  SshTransport transport(fixture.loop, fixture.options);
  Probe failed(fixture.loop, transport, fixture.host, "exit-3");
  CHECK(loop_until(fixture.loop, [&] { return failed.closed.has_value(); }));
  CHECK(failed.error() == "the agent exited with status 3; it said 'oh dear'");
  CHECK(failed.bytes == "agent exit-3\n");
  Probe killed(fixture.loop, transport, fixture.host, "killed");
  CHECK(loop_until(fixture.loop, [&] { return killed.closed.has_value(); }));
  CHECK(killed.error() == "the agent was killed by signal KILL");
}

TEST_CASE("a link that its owner drops, at any moment, says nothing more") {
  REQUIRE_SSHD();
  Fixture fixture;
  SshTransport transport(fixture.loop, fixture.options);
  Probe early(fixture.loop, transport, fixture.host);
  early.link.reset();
  LinkEvents events;
  std::unique_ptr<HostLink> link;
  bool heard = false;
  events.on_open = [](const LinkInfo&) {};
  events.on_bytes = [&](std::string_view) {
    CHECK_FALSE(heard);
    heard = true;
    link.reset();
    fixture.loop.stop();
  };
  events.on_closed = [](const Error& why) { FAIL_CHECK(render(why)); };
  link = transport.open(fixture.host, {"t-0"}, std::move(events));
  CHECK(loop_until(fixture.loop, [&] { return heard; }));
  for (const int after : {1, 5, 20, 60}) {  // somewhere in the set-up
    Probe probe(fixture.loop, transport, fixture.host);
    const auto drop = fixture.loop.after(after * 1ms, [&] {
      probe.link.reset();
      fixture.loop.stop();
    });
    CHECK(loop_until(fixture.loop, [&] { return probe.link == nullptr; }));
  }
  CHECK_FALSE(early.opened);
  CHECK_FALSE(early.closed);
}

TEST_CASE("host keys are checked strictly") {
  REQUIRE_SSHD();
  Fixture fixture;
  TemporaryFolder folder;
  SECTION("unknown") {
    write_file(fixture.server.known_hosts(), "");
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(), "is not known: ssh-ed25519 SHA256:"));
    CHECK_FALSE(contains(probe.error(), "ssh-keyscan"));
    CHECK(contains(probe.error(), "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"));
    // What it says to run makes just this key known.
    const std::string error = probe.error();
    const auto command = error.find("accept this key: echo ");
    REQUIRE(command != error.npos);
    const std::string line = error.substr(command + 17, error.find('\n', command) - command - 17);
    output_of(line);
    Probe again(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop,
                     [&] { return again.closed.has_value(); }));  // read once for a transport
    SshTransport fresh(fixture.loop, fixture.options);
    Probe known(fixture.loop, fresh, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return known.opened || known.closed; }));
    CHECK(known.opened == 1);
    const std::string own = public_line(fixture.server.host_key());  // with a comment
    CHECK(read_file(fixture.server.known_hosts()) ==
          "[127.0.0.1]:" + std::to_string(fixture.server.port()) + " " +
              own.substr(0, own.rfind(' ')) + "\n");
    return;
  }
  SECTION("changed") {
    fixture.server.trust(public_line(make_key(folder.path() / "other", "-t ed25519")));
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(), "has changed"));
    CHECK(contains(probe.error(), fixture.server.known_hosts().string() + ":2 has SHA256:"));
  }
  CHECK_FALSE(contains(fixture.server.log(), "Accepted"));
}

TEST_CASE("ssh's configuration says where a host is, and how to log in there") {
  REQUIRE_SSHD();
  Fixture fixture;
  TemporaryFolder folder;
  const std::string key = make_key(folder.path() / "key", "-t ecdsa -b 256");
  write_file(fixture.server.authorized_keys(), public_line(key) + "\n");
  write_file(fixture.server.known_hosts(), "gpus " + public_line(fixture.server.host_key()) + "\n");
  fixture.configure("Host gpu-x\n  HostName 127.0.0.1\n  Port " +
                    std::to_string(fixture.server.port()) + "\n  IdentityFile " + key +
                    "\n  HostKeyAlias GPUs\n  UserKnownHostsFile " +
                    fixture.server.known_hosts().string() + "\n");
  fixture.options.default_user = "nobody";
  fixture.host.address = {};
  fixture.host.port = {};
  fixture.host.user = current_user();  // what the hosts file says comes before all
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.opened == 1);
  CHECK(probe.info.address == "127.0.0.1");
}

TEST_CASE("accept-new adds the key of a new host and never another one") {
  REQUIRE_SSHD();
  Fixture fixture;
  TemporaryFolder folder;
  const auto known = folder.path() / "new/known_hosts";
  const std::string name = "[127.0.0.1]:" + std::to_string(fixture.server.port());
  const auto attempt = [&](const std::string& strict) {
    fixture.configure("StrictHostKeyChecking " + strict + "\nUserKnownHostsFile " + known.string() +
                      "\nIdentityFile " +
                      (fixture.server.launcher_home() / ".ssh/id_ed25519").string() + "\n");
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
    return probe.opened ? "open" : probe.error();
  };
  CHECK(contains(attempt("ask"), "is not known"));
  CHECK_FALSE(std::filesystem::exists(known));
  CHECK(attempt("accept-new") == "open");
  CHECK(read_file(known) ==
        name + " " + public_line(fixture.server.host_key()).substr(0, 80) + "\n");
  CHECK(std::filesystem::status(known).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  REQUIRE(fixture.said.size() == 1);
  CHECK(contains(fixture.said[0], "the host key of " + name + " is new and was added to " +
                                      known.string() + ": ssh-ed25519 SHA256:"));
  CHECK(attempt("yes") == "open");
  // No line end at the end of the file: the key still gets a line of its own.
  write_file(known, "other ssh-ed25519 AAAA");
  CHECK(attempt("no") == "open");
  CHECK(read_file(known).starts_with("other ssh-ed25519 AAAA\n" + name + " ssh-ed25519 "));
  REQUIRE(fixture.said.size() == 3);
  CHECK(contains(fixture.said[1], "'StrictHostKeyChecking no' is taken as accept-new"));
  const std::string stranger = public_line(make_key(folder.path() / "other", "-t ed25519"));
  const std::string of_another_type = public_line(make_key(folder.path() / "rsa", "-t ecdsa"));
  for (const char* strict : {"accept-new", "no"}) {
    write_file(known, name + " " + stranger + "\n");
    CHECK(contains(attempt(strict), "has changed"));
    write_file(known, name + " " + of_another_type + "\n");
    CHECK(contains(attempt(strict), "is not known"));
  }
  CHECK(fixture.said.size() == 3);
}

TEST_CASE("a host that libssh2 cannot serve is handed over, or fails with the reason") {
  REQUIRE_SSHD();
  Fixture fixture;
  fixture.configure("Host 127.0.0.1\n  ProxyCommand nc %h %p\n");
  {
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
    CHECK(contains(probe.error(),
                   "it can be reached by OpenSSH's own client only: ssh's "
                   "configuration has ProxyCommand 'nc %h %p' for it"));
    CHECK(contains(probe.error(), "ProxyCommand none"));
  }
  OtherTransport other(fixture.loop);
  fixture.options.openssh = &other;
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host, "t-7");
  probe.link->send("early ");
  CHECK(loop_until(fixture.loop, [&] { return !other.opened.empty(); }));
  CHECK(other.opened == "gpu-x t-7");
  CHECK(other.sent == "early ");
  probe.link->send("late");
  CHECK(other.sent == "early late");
  CHECK(probe.link->unsent_bytes() == 42);
  other.events.on_open({"10.0.0.1", "openssh"});
  CHECK(probe.info.transport == "openssh");
  probe.link.reset();
  CHECK(other.is_closed);
  CHECK(fixture.said == std::vector<std::string>{
                            "gpu-x is reached by OpenSSH's own client: ssh's configuration has "
                            "ProxyCommand 'nc %h %p' for it"});
}

TEST_CASE("a server that wants what libssh2 lacks is told at once, not tried again") {
  REQUIRE_SSHD();
  Fixture fixture("KexAlgorithms sntrup761x25519-sha512@openssh.com\n");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(),
                 "OpenSSH's own client only: libssh2 and the SSH server at "
                 "127.0.0.1:"));
  CHECK(contains(probe.error(), "have no algorithm in common"));
}

TEST_CASE("a key that only OpenSSH can use is named when no other is left") {
  REQUIRE_SSHD();
  Fixture fixture;
  write_file(fixture.server.authorized_keys(), "");
  const auto key = fixture.server.launcher_home() / ".ssh/id_ed25519_sk";
  write_file(key, "no key\n");
  std::filesystem::permissions(key, std::filesystem::perms::owner_read);
  write_file(key.string() + ".pub",
             "sk-ssh-ed25519@openssh.com "
             "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIJ7HpRLTlLgv/s62rQmDXbR5zQxPMD/rVXMYDjGz"
             "dVyDAAAABHNzaDo= me\n");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(),
                 "it refused all other keys, and libssh2 cannot use the FIDO key "
                 "~/.ssh/id_ed25519_sk"));
}

TEST_CASE("a family of addresses that the host does not have is told") {
  REQUIRE_SSHD();
  Fixture fixture;
  fixture.configure("AddressFamily inet6\n");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "'127.0.0.1' has no address of the family"));
}

TEST_CASE("keys of every kind log in, and a refusal lists what was tried") {
  REQUIRE_SSHD();
  Fixture fixture;
  TemporaryFolder folder;
  for (const std::string flags : {"-t rsa -b 2048", "-t rsa -b 2048 -m PEM", "-t ecdsa -b 384"}) {
    CAPTURE(flags);
    const std::string key = make_key(folder.path() / std::to_string(flags.size()), flags);
    fixture.server.authorize(key);
    fixture.host.identity_file = key;
    SshTransport transport(fixture.loop, fixture.options);
    Probe probe(fixture.loop, transport, fixture.host);
    loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
    INFO(probe.error() << fixture.server.log());
    CHECK(probe.opened == 1);
  }
  fixture.host.identity_file = make_key(folder.path() / "stranger", "-t ed25519");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "authentication failed for user " + current_user() + ": tried " +
                                    fixture.host.identity_file + " (ssh-ed25519)"));
  fixture.host.identity_file = make_key(folder.path() / "locked", "-t ed25519", "secret");
  Probe locked(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return locked.closed.has_value(); }));
  CHECK(contains(locked.error(),
                 "no key could be used; " + fixture.host.identity_file + " is encrypted"));
  CHECK(contains(locked.error(), "ssh-add"));
}

TEST_CASE("keys of ssh-agent log in") {
  REQUIRE_SSHD();
  Fixture fixture;
  TemporaryFolder folder;
  const std::string socket = (folder.path() / "agent").string();
  fixture.options.logins = std::make_shared<Logins>(Credentials{socket});
  ShellDialogue agent({"ssh-agent", "-D", "-a", socket}, "/");
  REQUIRE_FALSE(agent.read().empty());
  const std::string key = make_key(folder.path() / "rsa", "-t rsa -b 2048");
  write_file(fixture.server.authorized_keys(), public_line(key) + "\n");
  output_of("SSH_AUTH_SOCK=" + socket + " ssh-add -q " + key + " 2>&1");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.opened == 1);
}

TEST_CASE("what rc files and banners print is skipped, and what a broken shell prints is told") {
  REQUIRE_SSHD();
  TemporaryFolder folder;
  write_file(folder.path() / "banner", "Authorised use only\n");
  Fixture fixture("Banner " + (folder.path() / "banner").string() +
                  "\nForceCommand echo welcome; printf half; eval \"$SSH_ORIGINAL_COMMAND\"\n");
  SshTransport transport(fixture.loop, fixture.options);
  Probe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return !probe.bytes.empty() || probe.closed; });
  INFO(probe.error() << fixture.server.log());
  CHECK(probe.bytes == "agent t-0\n");

  Fixture broken("ForceCommand echo This account is not available; exit 1\n");
  SshTransport other(broken.loop, broken.options);
  Probe refused(broken.loop, other, broken.host);
  CHECK(loop_until(broken.loop, [&] { return refused.closed.has_value(); }));
  CHECK(contains(refused.error(),
                 "exited with status 1 before the agent was ready; it printed "
                 "'This account is not available'"));

  Fixture endless("ForceCommand exec yes\n");
  SshTransport third(endless.loop, endless.options);
  Probe noisy(endless.loop, third, endless.host);
  CHECK(loop_until(endless.loop, [&] { return noisy.closed.has_value(); }));
  CHECK(contains(noisy.error(), "printed more than 64 KiB before it answered"));
}

TEST_CASE("a port where nobody listens, and a name that means nothing, are told") {
  Loop loop;
  SshOptions options;
  options.default_user = "me";
  options.agent = packed_agent(fake_binary);
  SshTransport transport(loop, options);
  Host host;
  host.name = "127.0.0.1";
  const HeldPort closed;
  host.port = closed.number();
  Probe refused(loop, transport, host);
  CHECK(loop_until(loop, [&] { return refused.closed.has_value(); }));
  CHECK(contains(refused.error(), "connection refused at 127.0.0.1:" + std::to_string(*host.port)));
  CHECK(refused.closed.value().error_class == ErrorClass::host);
  host.name = "no-such-host.invalid";
  Probe unknown(loop, transport, host);
  CHECK(loop_until(loop, [&] { return unknown.closed.has_value(); }));
  CHECK(contains(unknown.error(), "name 'no-such-host.invalid' does not resolve"));
}

TEST_CASE("a server that is overrun is tried again, and all links open in the end") {
  REQUIRE_SSHD();
  Fixture fixture("MaxStartups 2:50:4\n");
  fixture.options.max_tries = 12;
  SshTransport transport(fixture.loop, fixture.options);
  std::vector<std::unique_ptr<Probe>> probes;
  for (int i = 0; i < 12; ++i)
    probes.push_back(std::make_unique<Probe>(fixture.loop, transport, fixture.host));
  CHECK(loop_until(fixture.loop, [&] {
    for (const auto& probe : probes)
      if (!probe->opened && !probe->closed) return false;
    return true;
  }));
  for (const auto& probe : probes) {
    INFO(probe->error());
    CHECK(probe->opened == 1);
  }
}

TEST_CASE("no more set-ups are under way than the window allows") {
  REQUIRE_SSHD();
  Fixture fixture;
  fixture.options.max_setups = 1;
  SshTransport transport(fixture.loop, fixture.options);
  Probe first(fixture.loop, transport, fixture.host), second(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return first.opened; }));
  CHECK_FALSE(second.opened);
  CHECK(loop_until(fixture.loop, [&] { return second.opened; }));
}

TEST_CASE("a server that accepts and says nothing is given up") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Loop loop;
  SshOptions options;
  options.handshake_timeout = 100ms;
  SshTransport transport(loop, options);
  Host host;
  host.name = "127.0.0.1";
  host.port = ntohs(address.sin_port);
  Probe probe(loop, transport, host);
  CHECK(loop_until(loop, [&] { return probe.closed.has_value(); }));
  CHECK(contains(probe.error(), "was silent for 0.1 s during the key exchange"));
  ::close(listener);
}

TEST_CASE("files are looked for in the home directory that is given") {
  const SshOptions options = default_ssh_options("/home/me", "me");
  CHECK(options.user_config == "/home/me/.ssh/config");
  CHECK(options.known_hosts_files.front() == "/home/me/.ssh/known_hosts");
  CHECK(options.default_user == "me");
}
