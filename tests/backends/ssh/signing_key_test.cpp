// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/signing_key.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include "backends/ssh/identities.hpp"
#include "backends/ssh/wire_encoding.hpp"
#include "tests/backends/ssh/temporary_keys.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("values survive SSH's encoding and base64") {
  CHECK(wire_number(0x01020304) == "\x01\x02\x03\x04");
  CHECK(wire_mpint(std::string("\0\0\x80", 3)) == std::string("\0\0\0\x02\0\x80", 6));
  CHECK(wire_mpint("") == std::string(4, '\0'));
  for (std::size_t size = 0; size < 20; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 37 + 200);
    CHECK(base64_decode(base64_encode(bytes)) == bytes);
  }
  CHECK(base64_encode("ab") == "YWI=");
  CHECK_FALSE(base64_decode("a-b"));
  WireReader reader(std::string_view("\0\0\0\x05short", 8));
  CHECK_FALSE(reader.string());
  CHECK_FALSE(reader.byte());
}

TEST_CASE("private keys of every kind and format are read and sign") {
  struct Case {
    const char* flags;
    const char* type;
  };
  const Case cases[] = {
      {"-t ed25519", "ssh-ed25519"},
      {"-t ecdsa -b 256", "ecdsa-sha2-nistp256"},
      {"-t ecdsa -b 384", "ecdsa-sha2-nistp384"},
      {"-t ecdsa -b 521", "ecdsa-sha2-nistp521"},
      {"-t rsa -b 2048", "ssh-rsa"},
      {"-t ecdsa -m PEM", "ecdsa-sha2-nistp256"},
      {"-t rsa -b 2048 -m PEM", "ssh-rsa"},
      {"-t rsa -b 2048 -m PKCS8", "ssh-rsa"},
      {"-t ecdsa -b 521 -m PKCS8", "ecdsa-sha2-nistp521"},
  };
  TemporaryFolder folder;
  int number = 0;
  for (const Case& one : cases) {
    CAPTURE(one.flags);
    const std::string path = make_key(folder.path() / std::to_string(++number), one.flags);
    const auto key = load_private_key(path, "the key");
    REQUIRE(key);
    CHECK(key_type((*key)->public_blob()) == one.type);
    CHECK((*key)->public_blob() == load_public_blob(path + ".pub"));
    for (const std::string& algorithm : signature_algorithms(one.type))
      CHECK((*key)->sign("data", algorithm).value().size() >= 64);
  }
}

TEST_CASE("an RSA request names the signature algorithm in its blob") {
  const std::string blob = wire_string("ssh-rsa") + wire_mpint("e") + wire_mpint("n");
  CHECK(blob_for_algorithm(blob, "rsa-sha2-512") ==
        wire_string("rsa-sha2-512") + wire_mpint("e") + wire_mpint("n"));
}

TEST_CASE("a key that cannot be used says why and what to do") {
  TemporaryFolder folder;
  const auto message = [](const std::string& path) {
    const auto key = load_private_key(path, "the key");
    REQUIRE_FALSE(key);
    CHECK_FALSE(key.error().diagnostics[0].hint.empty());
    return key.error().diagnostics[0].message;
  };
  CHECK(message((folder.path() / "none").string()) ==
        "the key cannot be read: No such file or directory");
  CHECK(message(folder.path().string()) == "the key is not a file");
  CHECK(message(make_key(folder.path() / "e", "-t ed25519", "secret")) == "the key is encrypted");
  CHECK(message(make_key(folder.path() / "p", "-t rsa -b 2048 -m PEM", "secret")) ==
        "the key is encrypted");

  const std::string open = make_key(folder.path() / "open", "-t ed25519");
  std::filesystem::permissions(open, std::filesystem::perms(0644));
  CHECK(message(open) == "the key can be read by other users");

  const std::string good = read_file(make_key(folder.path() / "good", "-t ed25519"));
  for (const std::size_t size :
       {good.size() / 2, std::size_t{60}, std::size_t{10}, std::size_t{0}}) {
    const std::string end = "\n-----END OPENSSH PRIVATE KEY-----\n";
    CHECK_FALSE(parse_private_key(good.substr(0, size), "k"));
    CHECK_FALSE(parse_private_key(good.substr(0, size) + end, "k"));
  }
}

TEST_CASE("the keys are tried in a fixed order, each once") {
  TemporaryFolder folder;
  const auto home = folder.path() / "home";
  std::filesystem::create_directories(home / ".ssh");
  make_key(home / ".ssh/id_rsa", "-t rsa -b 2048");
  make_key(home / ".ssh/id_ed25519", "-t ed25519");
  make_key(home / ".ssh/id_ecdsa", "-t ecdsa", "secret");
  Identities identities(home.string(), "", std::chrono::seconds(1));
  const LoginPlan& plan = identities.plan("");
  std::vector<std::string> order;
  for (const LoginKey& login : plan.keys)
    order.push_back(login.key->origin() + " " + login.algorithm);
  CHECK(order == std::vector<std::string>{"~/.ssh/id_ed25519 ssh-ed25519",
                                          "~/.ssh/id_rsa rsa-sha2-512",
                                          "~/.ssh/id_rsa rsa-sha2-256"});
  REQUIRE(plan.unusable.size() == 1);
  CHECK(plan.unusable[0].message == "~/.ssh/id_ecdsa is encrypted");
  CHECK(identities.plan("~/.ssh/id_rsa").keys.size() == 2);
}

TEST_CASE("an agent's keys come first, the one that the identity file names before the others") {
  TemporaryFolder folder;
  const std::string socket = (folder.path() / "agent").string();
  const std::string first = make_key(folder.path() / "first", "-t ed25519");
  const std::string second = make_key(folder.path() / "second", "-t rsa -b 2048", "secret");
  ShellDialogue agent({"ssh-agent", "-D", "-a", socket}, "/");
  REQUIRE_FALSE(agent.read().empty());  // it listens
  // Plain keys only can be added without a terminal: the passphrase is taken off a copy.
  output_of("cp " + second + " " + second + ".copy; ssh-keygen -q -p -P secret -N '' -f " + second +
            ".copy; SSH_AUTH_SOCK=" + socket + " ssh-add -q " + first + " " + second +
            ".copy 2>&1");
  Identities identities("/nonexistent", socket, std::chrono::seconds(5));
  const LoginPlan& plan = identities.plan(second);
  REQUIRE(plan.keys.size() == 3);
  CHECK(plan.keys[0].algorithm == "rsa-sha2-512");
  CHECK(plan.keys[2].algorithm == "ssh-ed25519");
  CHECK(plan.unusable.empty());
  CHECK(plan.keys[0].key->sign("data", "rsa-sha2-512").value().size() == 256);
  CHECK(plan.keys[2].key->sign("data", "ssh-ed25519").value().size() == 64);
  CHECK(identities.plan("").keys.size() == 3);
}

TEST_CASE("an agent that is not there is named, and one that is silent is not waited for twice") {
  TemporaryFolder folder;
  Identities absent("/nonexistent", (folder.path() / "none").string(), std::chrono::seconds(1));
  REQUIRE(absent.plan("").unusable.size() == 1);
  CHECK(absent.plan("").unusable[0].message.find("No such file") != std::string::npos);

  const std::string socket = (folder.path() / "silent").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, socket.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  Identities silent("/nonexistent", socket, std::chrono::milliseconds(50));
  CHECK(silent.plan("").unusable.at(0).message.find("no valid answer within 50 ms") !=
        std::string::npos);
  ::close(listener);
}
