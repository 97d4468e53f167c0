// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/identities.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include "backends/ssh_formats/private_key_file.hpp"
#include "tests/backends/ssh_formats/temporary_keys.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

struct Fixture {
  Fixture()
      : socket((folder.path() / "agent").string()), agent({"ssh-agent", "-D", "-a", socket}, "/") {
    REQUIRE_FALSE(agent.read().empty());
  }

  std::string key(const std::string& name, const std::string& flags = "-t ed25519",
                  const std::string& passphrase = "") const {
    return make_key(folder.path() / name, flags, passphrase);
  }
  void hold(const std::string& path) const {
    output_of("SSH_AUTH_SOCK=" + socket + " ssh-add -q " + path + " 2>&1");
  }
  IdentityFile file(const std::string& name) const {
    return {name, (folder.path() / name).string(), {}};
  }
  // "FILE" of a key that signs by itself, "agent:FILE" of one that the agent holds.
  Words order(const LoginPlan& plan) const {
    Words names;
    for (const LoginKey& login : plan.keys)
      for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path().extension() == ".pub" &&
            load_public_blob(entry.path().string()) == login.key->public_blob())
          names.push_back((login.key->origin().starts_with("ssh-agent") ? "agent:" : "") +
                          entry.path().stem().string());
    return names;
  }

  TemporaryFolder folder;
  std::string socket;
  ShellDialogue agent;
  Identities identities{60s, 60s};
};

}  // namespace

TEST_CASE("keys are tried in ssh's order: the agent's named ones, its others, then files") {
  Fixture fixture;
  for (const char* name : {"a", "b", "c", "d"}) fixture.key(name);
  fixture.hold(fixture.key("other"));
  fixture.hold((fixture.folder.path() / "c").string());
  fixture.hold((fixture.folder.path() / "b").string());
  IdentityChoice choice;
  choice.files = {fixture.file("a"), fixture.file("b"), fixture.file("c"), fixture.file("d")};
  CHECK(fixture.order(fixture.identities.plan(choice)) == Words{"a", "b", "c", "d"});
  choice.agent_sockets = {fixture.socket};
  CHECK(fixture.order(fixture.identities.plan(choice)) ==
        Words{"agent:c", "agent:b", "agent:other", "a", "d"});
  const auto is_in_file = [&] {
    std::string text;
    for (const LoginKey& login : fixture.identities.plan(choice).keys)
      text += login.is_in_file ? "f" : "-";
    return text;
  };
  CHECK(is_in_file() == "ff-ff");
  choice.only_files = true;
  CHECK(fixture.order(fixture.identities.plan(choice)) == Words{"agent:c", "agent:b", "a", "d"});
  choice.files = {fixture.file("d"), fixture.file("b")};
  choice.named = 1;
  choice.only_files = false;
  CHECK(fixture.order(fixture.identities.plan(choice)) ==
        Words{"d", "agent:b", "agent:other", "agent:c"});
}

TEST_CASE("an encrypted key, or a public one, is used through the agent or told of") {
  Fixture fixture;
  fixture.key("locked", "-t ed25519", "secret");
  fixture.hold(fixture.key("held"));
  fixture.key("stranger");
  IdentityChoice choice;
  choice.agent_sockets = {fixture.socket};
  choice.only_files = true;
  choice.files = {fixture.file("held.pub"), fixture.file("locked"), fixture.file("stranger.pub")};
  const LoginPlan& plan = fixture.identities.plan(choice);
  CHECK(fixture.order(plan) == Words{"agent:held"});
  CHECK_FALSE(plan.keys[0].is_in_file);
  REQUIRE(plan.unusable.size() == 2);
  CHECK(plan.unusable[0].message == "locked is encrypted");
  CHECK(plan.unusable[1].message ==
        "stranger.pub is a public key, whose private half ssh-agent does not hold");
}

TEST_CASE("files that do not exist are news only when somebody named them") {
  Fixture fixture;
  IdentityChoice choice;
  choice.files = {fixture.file("none")};
  CHECK(fixture.identities.plan(choice).unusable.empty());
  choice.missing_is_news = true;
  CHECK(fixture.identities.plan(choice).unusable.size() == 1);
  choice.missing_is_news = false;
  choice.named = 1;
  REQUIRE(fixture.identities.plan(choice).unusable.size() == 1);
  CHECK(fixture.identities.plan(choice).unusable[0].message ==
        "none cannot be read: no such file or directory");
  choice.files = {{"/k/%C", {}, "'/k/%C' of ssh's configuration has the token %C"}};
  CHECK(fixture.identities.plan(choice).unusable[0].message ==
        "'/k/%C' of ssh's configuration has the token %C");
}

TEST_CASE("signature algorithms that the configuration forbids are not used") {
  Fixture fixture;
  fixture.key("rsa", "-t rsa -b 2048");
  IdentityChoice choice;
  choice.files = {fixture.file("rsa")};
  choice.algorithms = {"ssh-ed25519", "rsa-sha2-256"};
  const LoginPlan& plan = fixture.identities.plan(choice);
  REQUIRE(plan.keys.size() == 1);
  CHECK(plan.keys[0].algorithm == "rsa-sha2-256");
}

TEST_CASE("keys that only OpenSSH can use are remembered") {
  Fixture fixture;
  // The public half of a FIDO key, next to what stands for its handle.
  const auto path = fixture.folder.path() / "id_ed25519_sk";
  write_file(path, "no key\n");
  write_file(fixture.folder.path() / "id_ed25519_sk.pub",
             "sk-ssh-ed25519@openssh.com "
             "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIJ7HpRLTlLgv/s62rQmDXbR5zQxPMD/rVXMYDjGz"
             "dVyDAAAABHNzaDo= me\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  fixture.key("ca");
  const std::string signed_key = fixture.key("signed");
  output_of("ssh-keygen -q -s " + (fixture.folder.path() / "ca").string() + " -I me -n me " +
            signed_key + ".pub 2>&1");
  fixture.hold(signed_key);  // with its certificate
  IdentityChoice choice;
  choice.files = {fixture.file("id_ed25519_sk")};
  choice.agent_sockets = {fixture.socket};
  const LoginPlan& plan = fixture.identities.plan(choice);
  CHECK(plan.foreign == Words{"ssh-agent's certificate 'test'", "the FIDO key id_ed25519_sk"});
  CHECK(fixture.order(plan) == Words{"agent:signed"});
  choice = {};
  choice.files = {fixture.file("signed")};
  const LoginPlan& of_file = fixture.identities.plan(choice);
  CHECK(of_file.foreign == Words{"the certificate signed-cert.pub"});
  CHECK(of_file.keys.size() == 1);
}

TEST_CASE("a key that is encrypted in its file signs through the agent, with SHA-2 if it is RSA") {
  Fixture fixture;
  const std::string first = fixture.key("first");
  const std::string second = fixture.key("second", "-t rsa -b 2048", "secret");
  const std::string third = fixture.key("third", "-t ecdsa -b 384");
  // Plain keys only can be added without a terminal: the passphrase is taken off a copy.
  output_of("cp " + second + " " + second + ".copy; ssh-keygen -q -p -P secret -N '' -f " + second +
            ".copy");
  for (const auto& path : {first, third, second + ".copy"}) fixture.hold(path);
  IdentityChoice choice;
  choice.files = {fixture.file("second")};
  choice.named = 1;
  choice.agent_sockets = {fixture.socket};
  const LoginPlan& plan = fixture.identities.plan(choice);
  CHECK(fixture.order(plan) == Words{"agent:second", "agent:second", "agent:first", "agent:third"});
  CHECK(plan.unusable.empty());
  REQUIRE(plan.keys.size() == 4);
  CHECK(plan.keys[0].key->sign("data", "rsa-sha2-512").value().size() == 256);
  CHECK(plan.keys[1].key->sign("data", "rsa-sha2-256").value().size() == 256);
  CHECK(plan.keys[2].key->sign("data", "ssh-ed25519").value().size() == 64);
  CHECK_FALSE(plan.keys[3].key->sign("data", "ecdsa-sha2-nistp384").value().empty());
}

TEST_CASE("the keys of several agents are tried, each once, and one that has gone is told of") {
  Fixture fixture, other;
  const std::string shared = fixture.key("shared");
  fixture.hold(shared);
  other.hold(shared);
  other.hold(fixture.key("others"));
  IdentityChoice choice;
  choice.agent_sockets = {(fixture.folder.path() / "none").string(), fixture.socket, other.socket};
  const LoginPlan& plan = fixture.identities.plan(choice);
  CHECK(fixture.order(plan) == Words{"agent:shared", "agent:others"});
  REQUIRE(plan.unusable.size() == 1);
  CHECK(plan.unusable[0].message.find("no such file") != std::string::npos);
}

TEST_CASE("an agent that took the place of another is asked once the old one is forgotten") {
  Fixture fixture;
  fixture.socket = (fixture.folder.path() / "another").string();
  IdentityChoice choice;
  choice.agent_sockets = {fixture.socket};
  {
    ShellDialogue first({"ssh-agent", "-D", "-a", fixture.socket}, "/");
    REQUIRE_FALSE(first.read().empty());
    fixture.hold(fixture.key("first"));
    CHECK(fixture.order(fixture.identities.plan(choice)) == Words{"agent:first"});
  }
  std::filesystem::remove(fixture.socket);
  ShellDialogue second({"ssh-agent", "-D", "-a", fixture.socket}, "/");
  REQUIRE_FALSE(second.read().empty());
  fixture.hold(fixture.key("second"));
  CHECK(eventually([&] {
    fixture.identities.forget_agents();
    return fixture.order(fixture.identities.plan(choice)) == Words{"agent:second"};
  }));
}

TEST_CASE("an agent that is not there is named, and one that is silent is not waited for twice") {
  TemporaryFolder folder;
  Identities identities{50ms, 50ms};
  IdentityChoice choice;
  choice.agent_sockets = {(folder.path() / "none").string()};
  REQUIRE(identities.plan(choice).unusable.size() == 1);
  CHECK(identities.plan(choice).unusable[0].message.find("no such file") != std::string::npos);

  choice.agent_sockets = {(folder.path() / "silent").string()};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  choice.agent_sockets[0].copy(address.sun_path, choice.agent_sockets[0].size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener, 4) == 0);
  for (const bool only_files : {false, true}) {
    choice.only_files = only_files;
    CHECK(identities.plan(choice).unusable.at(0).message.find("no valid answer within 0.05 s") !=
          std::string::npos);
  }
  int asked = 0;
  for (int connection = -1; (connection = ::accept(listener, nullptr, nullptr)) >= 0; ++asked)
    ::close(connection);
  CHECK(asked == 1);
  ::close(listener);
}
