// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/passphrases.hpp"

#include "backends/ssh_keys/identities.hpp"
#include "tests/backends/ssh/ssh_fixture.hpp"

using namespace train;
using namespace train::testing;

namespace {

// Answers questions from a list, then not at all.
struct Answers {
  explicit Answers(Loop& event_loop, std::vector<std::string> list)
      : loop(event_loop), answers(std::move(list)) {}
  AskSecret ask() {
    return [this](const std::string& question, const auto& on_answer) {
      questions.push_back(question);
      const bool has_answer = questions.size() <= answers.size();
      loop.post([on_answer, text = has_answer ? answers[questions.size() - 1] : ""] {
        on_answer(text.empty() ? nullptr : std::make_unique<Secret>(text));
      });
    };
  }
  Loop& loop;
  std::vector<std::string> answers;
  std::vector<std::string> questions;
};

struct EncryptedFixture : SshFixture {
  explicit EncryptedFixture(const std::vector<std::string>& list) : answers(loop, list) {
    key = make_key(server.launcher_home() / "locked", "-t ed25519 -a 2", "secret");
    write_file(server.authorized_keys(), public_line(key) + "\n");
    host.identity_file = key;
    options.ask = answers.ask();
  }
  Answers answers;
  std::string key;
};

}  // namespace

TEST_CASE("the passphrase of a key is asked for once, for all hosts that take the key") {
  REQUIRE_SSHD();
  EncryptedFixture fixture({"no", "secret"});
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe first(fixture.loop, transport, fixture.host);
  LinkProbe second(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop,
             [&] { return (first.opened || first.closed) && (second.opened || second.closed); });
  INFO(first.error() << second.error() << fixture.server.log());
  CHECK(first.opened == 1);
  CHECK(second.opened == 1);
  LinkProbe later(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return later.opened; }));
  CHECK(fixture.answers.questions ==
        std::vector<std::string>{"passphrase for the key " + fixture.key + ": ",
                                 "that was wrong; passphrase for the key " + fixture.key + ": "});
}

TEST_CASE("three wrong passphrases are enough, and no answer is as good") {
  REQUIRE_SSHD();
  const bool is_answered = GENERATE(true, false);
  EncryptedFixture fixture(is_answered ? std::vector<std::string>{"a", "b", "c", "secret"}
                                       : std::vector<std::string>{});
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  LinkProbe other(fixture.loop, transport, fixture.host);
  CHECK(loop_until(fixture.loop, [&] { return probe.closed && other.closed; }));
  CHECK(fixture.answers.questions.size() == (is_answered ? 3 : 1));
  CHECK(contains(probe.error(),
                 fixture.key + " is encrypted, and " +
                     (is_answered ? "3 passphrases were wrong" : "its passphrase was not given")));
  CHECK(contains(probe.error(), "ssh-add " + fixture.key));
  CHECK(contains(other.error(), " is encrypted, and "));
}

TEST_CASE("nobody is asked for a key that the host does not take, or does not need") {
  REQUIRE_SSHD();
  EncryptedFixture fixture({"secret"});
  // ssh tries ecdsa keys first.
  const auto keys = fixture.server.launcher_home() / ".ssh";
  make_key(keys / "id_ecdsa", "-t ecdsa", "secret");
  fixture.host.identity_file.clear();
  const std::string own = (keys / "id_ed25519").string();
  write_file(fixture.server.authorized_keys(), public_line(own) + "\n");
  SshTransport transport(fixture.loop, fixture.options);
  LinkProbe probe(fixture.loop, transport, fixture.host);
  loop_until(fixture.loop, [&] { return probe.opened || probe.closed; });
  INFO(probe.error());
  CHECK(probe.opened == 1);
  CHECK(fixture.answers.questions.empty());
}

TEST_CASE("what waits for a passphrase goes away with its transport") {
  REQUIRE_SSHD();
  EncryptedFixture fixture({});
  std::function<void(std::unique_ptr<Secret>)> answer;
  fixture.options.ask = [&](const std::string&, const auto& on_answer) {
    answer = on_answer;
    fixture.loop.stop();
  };
  {
    SshTransport transport(fixture.loop, fixture.options);
    LinkProbe probe(fixture.loop, transport, fixture.host);
    REQUIRE(loop_until(fixture.loop, [&] { return answer != nullptr; }));
  }
  answer(std::make_unique<Secret>("secret"));
}
