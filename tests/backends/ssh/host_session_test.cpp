// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <functional>

#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// What logs in to a server once, as long as that works.
struct KeepingFixture : SshFixture {
  // A session that opens no channel for so long is given up.
  explicit KeepingFixture(const std::string& server_options = "",
                          std::chrono::milliseconds session_patience = 60s)
      : SshFixture(server_options), transport(loop, options_of(*this, session_patience)) {
    transport.keep_sessions(true);
  }
  static SshOptions options_of(SshFixture& fixture, std::chrono::milliseconds session_patience) {
    fixture.options.session_patience = session_patience;
    return fixture.options;
  }

  int logins() const { return count_of(server.log(), "Accepted publickey"); }
  int sessions_ended() const { return count_of(server.log(), "Disconnected from user"); }

  std::unique_ptr<LinkProbe> open(const std::string& key = "t-0") {
    auto probe = std::make_unique<LinkProbe>(loop, transport, host, key);
    loop_until(loop, [&] { return probe->bytes == "agent " + key + "\n" || probe->closed; });
    INFO(probe->error() << server.log());
    CHECK(probe->opened == 1);
    return probe;
  }

  // Whether the server says so within the time that a test has.
  bool comes(const std::function<bool()>& condition) { return loop_until(loop, condition); }

  // The process of the server that serves the oldest connection.
  int serving() const {
    return std::stoi(output_of("pgrep -o -P " + std::to_string(server.pid())));
  }

  SshTransport transport;
};

void expect_answer(LinkProbe& probe, const std::string& text) {
  probe.bytes.clear();
  probe.link->send(text);
  loop_until(probe.loop, [&] { return probe.bytes == text || probe.closed; });
  CHECK((probe.bytes == text));
}

}  // namespace

TEST_CASE("links to a host whose sessions are kept log in there once, at the same time and later") {
  REQUIRE_SSHD();
  KeepingFixture fixture;
  auto waits = fixture.open("t-0");
  auto runs = fixture.open("t-0");
  CHECK(runs->info.address == "127.0.0.1");
  CHECK(runs->info.own_address == "127.0.0.1");
  const std::string noise = megabyte_of_noise();
  waits->bytes.clear();
  runs->bytes.clear();
  waits->link->send(noise);
  runs->link->send(noise + "more");
  loop_until(fixture.loop, [&] {
    return waits->bytes.size() >= noise.size() && runs->bytes.size() >= noise.size() + 4;
  });
  CHECK((waits->bytes == noise));
  CHECK((runs->bytes == noise + "more"));
  waits.reset();
  expect_answer(*runs, "still here");
  runs.reset();
  auto next = fixture.open();
  expect_answer(*next, "once more");
  CHECK(fixture.logins() == 1);
  CHECK(fixture.sessions_ended() == 0);
}

TEST_CASE("a session that is kept no longer ends with its last link, at once without one") {
  REQUIRE_SSHD();
  KeepingFixture fixture;
  auto probe = fixture.open();
  SECTION("with a link") {
    fixture.transport.keep_sessions(false);
    expect_answer(*probe, "still here");
    CHECK(fixture.open() != nullptr);
    CHECK(fixture.logins() == 2);
    probe.reset();
    CHECK(fixture.comes([&] { return fixture.sessions_ended() == 2; }));
  }
  SECTION("without one") {
    probe.reset();
    fixture.transport.keep_sessions(false);
    CHECK(fixture.comes([&] { return fixture.sessions_ended() == 1; }));
  }
}

TEST_CASE("the channel of a link that ends is closed although its session stays") {
  REQUIRE_SSHD();
  KeepingFixture fixture("MaxSessions 1\n");
  for (int i = 0; i < 3; ++i) {
    auto probe = fixture.open();
    probe.reset();
    CHECK(fixture.comes(
        [&] { return count_of(fixture.server.log(), "Close session: user") == i + 1; }));
  }
  CHECK(fixture.logins() == 1);
}

TEST_CASE("a server that allows no further session is logged in to once more") {
  REQUIRE_SSHD();
  KeepingFixture fixture("MaxSessions 1\n");
  auto first = fixture.open();
  auto second = fixture.open();
  expect_answer(*first, "first");
  expect_answer(*second, "second");
  CHECK(fixture.logins() == 2);
}

TEST_CASE("a session that has died is replaced") {
  REQUIRE_SSHD();
  KeepingFixture fixture("", 2s);
  auto first = fixture.open();
  const int number = fixture.serving();
  SECTION("with a word") {
    ::kill(number, SIGKILL);
    CHECK(loop_until(fixture.loop, [&] { return first->closed.has_value(); }));
  }
  SECTION("with a word, while it carries nothing") {
    first.reset();
    ::kill(number, SIGKILL);
  }
  SECTION("without a word") { ::kill(number, SIGSTOP); }
  auto second = fixture.open();
  expect_answer(*second, "second");
  CHECK(fixture.logins() == 2);
  auto third = fixture.open();  // on the session that works
  CHECK(fixture.logins() == 2);
  if (first && !first->closed) {
    ::kill(number, SIGCONT);  // it opens the channel that nobody wants any more
    expect_answer(*first, "back again");
  }
}

TEST_CASE("another user, address or key of a host is another login") {
  REQUIRE_SSHD();
  KeepingFixture fixture;
  auto first = fixture.open();
  fixture.host.identity_file = (fixture.server.launcher_home() / ".ssh/id_ed25519").string();
  auto second = fixture.open();
  fixture.host.name = "gpu-y";
  auto third = fixture.open();
  CHECK(fixture.logins() == 3);
}

TEST_CASE("a link on a session that is there may be dropped at any moment, and others stay") {
  REQUIRE_SSHD();
  KeepingFixture fixture;
  auto stays = fixture.open();
  for (const int after : {0, 1, 2, 5, 10, 20, 40}) {
    LinkProbe probe(fixture.loop, fixture.transport, fixture.host);
    const auto drop = fixture.loop.after(after * 1ms, [&] {
      probe.link.reset();
      fixture.loop.stop();
    });
    CHECK(loop_until(fixture.loop, [&] { return probe.link == nullptr; }));
    CHECK_FALSE(probe.closed);
    expect_answer(*stays, "after " + std::to_string(after));
  }
  CHECK(fixture.logins() == 1);
}
