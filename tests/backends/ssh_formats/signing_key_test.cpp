// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/private_key_file.hpp"

#include "backends/ssh_formats/wire_encoding.hpp"
#include "tests/backends/ssh_formats/temporary_keys.hpp"
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
        "the key cannot be read: no such file or directory");
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

TEST_CASE("an encrypted key of any kind is opened by its passphrase and by no other") {
  TemporaryFolder folder;
  const std::atomic<bool> goes_on{false};
  const Secret right("open sesame"), wrong("open sesam");
  int number = 0;
  for (const std::string flags :
       {"-t ed25519", "-t ed25519 -Z aes256-cbc", "-t ecdsa -Z aes128-ctr", "-t rsa -Z aes192-cbc",
        "-t ed25519 -a 3", "-t rsa -m PEM", "-t ecdsa -m PKCS8"}) {
    CAPTURE(flags);
    const std::string path =
        make_key(folder.path() / std::to_string(++number), flags, "open sesame");
    const auto blob = load_blob_of_encrypted_key(path);
    REQUIRE(blob);
    const bool is_openssh = flags.find("-m") == flags.npos;
    CHECK(*blob == (is_openssh ? load_public_blob(path + ".pub") : ""));
    const KeyOpening opening{right, goes_on}, mistake{wrong, goes_on};
    const auto key = load_private_key(path, "the key", &opening);
    REQUIRE(key);
    REQUIRE(*key);
    CHECK((*key)->public_blob() == load_public_blob(path + ".pub"));
    const auto closed = load_private_key(path, "the key", &mistake);
    REQUIRE(closed);
    CHECK(*closed == nullptr);
  }
  CHECK_FALSE(load_blob_of_encrypted_key(make_key(folder.path() / "open", "-t ed25519")));
  CHECK_FALSE(load_blob_of_encrypted_key((folder.path() / "none").string()));
}

TEST_CASE("a cipher that is not known here leaves an encrypted key to ssh-agent") {
  TemporaryFolder folder;
  const std::string path =
      make_key(folder.path() / "key", "-t ed25519 -Z chacha20-poly1305@openssh.com", "open sesame");
  CHECK_FALSE(load_blob_of_encrypted_key(path));
  const std::atomic<bool> goes_on{false};
  const Secret right("open sesame");
  const KeyOpening opening{right, goes_on};
  const auto key = load_private_key(path, "the key", &opening);
  REQUIRE_FALSE(key);
  CHECK(key.error().diagnostics[0].message == "the key is encrypted");
}
