// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_log.hpp"

#include "tests/catch.hpp"

using namespace train;
using Stage = OpensshStage;

TEST_CASE("ssh's log tells how far it is, byte by byte") {
  const std::string log =
      "debug1: Connecting to gpu-a [10.77.1.3] port 2222.\r\n"
      "debug1: Connection established.\r\n"
      "debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1\r\n"
      "debug1: Authenticating to gpu-a:2222 as 'me'\r\n"
      "debug1: Server host key: ssh-ed25519 SHA256:8zSLgFnprkMTDRiBCktB\r\n"
      "debug1: Offering public key: /home/me/.ssh/my key ED25519 SHA256:M+O explicit\r\n"
      "debug1: Offering public key: laptop RSA SHA256:abc agent\r\n"
      "Authenticated to gpu-a ([10.77.1.3]:2222) using \"publickey\".\r\n"
      "debug1: Sending command: exec /bin/sh\r\n"
      "words of the agent\n"
      "Transferred: sent 3496, received 3376 bytes, in 0.3 seconds\r\n"
      "Bytes per second: sent 10637.8, received 10272.7\r\n"
      "debug1: Exit status 3\r\n";
  OpensshLog reader;
  std::vector<Stage> stages = {reader.stage()};
  for (const char byte : log) {
    reader.feed({&byte, 1});
    if (reader.stage() != stages.back()) stages.push_back(reader.stage());
  }
  CHECK(stages == std::vector{Stage::starting, Stage::connecting, Stage::exchanging,
                              Stage::logging_in, Stage::logged_in});
  CHECK(reader.connections() == 1);
  CHECK_FALSE(reader.is_proxied());
  CHECK(reader.address() == "10.77.1.3");
  CHECK(reader.port() == "2222");
  CHECK(reader.user() == "me");
  CHECK(reader.host_key() == "ssh-ed25519 SHA256:8zSLgFnprkMTDRiBCktB");
  CHECK(reader.offered_keys() ==
        std::vector<std::string>{"/home/me/.ssh/my key ED25519", "laptop RSA"});
  CHECK(reader.text() == "words of the agent\n");
}

TEST_CASE("a proxy or an existing master has no address to tell") {
  OpensshLog proxied;
  proxied.feed("debug1: Executing proxy command: exec nc gpu-a 22\r\n");
  CHECK(proxied.stage() == Stage::exchanging);
  CHECK(proxied.is_proxied());
  CHECK(proxied.address().empty());
  CHECK(proxied.jump_host().empty());
  OpensshLog jumps;
  jumps.feed(
      "debug1: Setting implicit ProxyCommand from ProxyJump: ssh -J a -v -W '[%h]:%p' b\r\n"
      "debug1: Setting implicit ProxyCommand from ProxyJump: ssh -v -W '[%h]:%p' a\r\n");
  CHECK(jumps.jump_host() == "b");
  OpensshLog shared;
  shared.feed("debug1: mux_client_request_session: master session id: 2\r\n");
  CHECK(shared.stage() == Stage::logged_in);
}

TEST_CASE("a host with two addresses is connected to again") {
  OpensshLog log;
  log.feed(
      "debug1: Connecting to a [::1] port 22.\r\ndebug1: connect to address ::1 port 22: x\r\n");
  log.feed("debug1: Connecting to a [127.0.0.1] port 22.\r\n");
  CHECK(log.connections() == 2);
  CHECK(log.address() == "127.0.0.1");
  CHECK(log.stage() == Stage::connecting);
}

TEST_CASE(
    "keys that ssh accepts are told: a jump host's, the host's own, and one that no file took") {
  OpensshLog log;
  log.feed("Warning: Permanently added 'gate' (RSA) to the list of known hosts.\r\n");
  log.feed("debug1: Server host key: ssh-ed25519 SHA256:8zSL\r\n");
  log.feed("Warning: Permanently added '[gpu-a]:2222' (ED25519) to the list of known hosts.\r\n");
  const std::vector<AcceptedKey> keys = log.take_accepted_keys();
  REQUIRE(keys.size() == 2);
  CHECK(keys[0].host == "gate");
  CHECK(keys[0].key == "RSA");
  CHECK(keys[0].is_jump_host);
  CHECK(keys[1].host == "[gpu-a]:2222");
  CHECK(keys[1].key == "ssh-ed25519 SHA256:8zSL");
  CHECK_FALSE(keys[1].is_jump_host);
  CHECK(keys[1].is_written);
  CHECK(log.take_accepted_keys().empty());
  log.feed("Failed to add the host to the list of known hosts (/root/.ssh/known_hosts).\r\n");
  const std::vector<AcceptedKey> unwritten = log.take_accepted_keys();
  REQUIRE(unwritten.size() == 1);
  CHECK_FALSE(unwritten[0].is_written);
  // What the program on the host writes is no word of ssh's, and a liar takes bounded memory.
  for (int i = 0; i < 100; ++i) log.feed("Warning: Permanently added 'x' (RSA)\n");
  CHECK(log.take_accepted_keys().size() == 8);
  log.feed("Authenticated to gpu-a ([10.77.1.3]:2222) using \"publickey\".\r\n");
  log.feed("Warning: Permanently added 'x' (RSA) to the list of known hosts.\r\n");
  CHECK(log.take_accepted_keys().empty());
}

TEST_CASE("what a host was logged in to with is told by ssh") {
  const auto means = [](const std::string& key, const std::string& method) {
    OpensshLog log;
    log.feed("debug1: Offering public key: me@there ED25519 SHA256:8zSL agent\r\n");
    if (!key.empty()) log.feed("debug1: Server accepts key: " + key + "\r\n");
    log.feed("Authenticated to gpu-a ([10.77.1.3]:22) using \"" + method + "\".\r\n");
    log.feed("Authenticated to evil ([6.6.6.6]:22) using \"gssapi-with-mic\".\r\n");
    return log.means();
  };
  CHECK(means("/home/me/.ssh/id_ed25519 ED25519 SHA256:8zSL", "publickey") == LoginMeans::file);
  CHECK(means("me agent ED25519 SHA256:8zSL", "publickey") == LoginMeans::file);
  CHECK(means("me@there ED25519-CERT SHA256:8zSL agent", "publickey") == LoginMeans::agent);
  CHECK(means("me@there ED25519-SK SHA256:8zSL agent", "publickey") == LoginMeans::agent);
  CHECK(means("/home/me/.ssh/id_sk ED25519-SK SHA256:8zSL authenticator", "publickey") ==
        LoginMeans::security_key);
  CHECK(means("", "gssapi-with-mic") == LoginMeans::kerberos);
  CHECK(means("me@there RSA SHA256:8zSL agent", "gssapi-keyex") == LoginMeans::kerberos);
  CHECK(means("", "hostbased") == LoginMeans::file);
}

TEST_CASE("errors are kept as text, the last line also without an end") {
  OpensshLog log;
  log.feed("ssh: connect to host a port 22: Connection refused");
  CHECK(log.text().empty());
  log.finish();
  CHECK(log.text() == "ssh: connect to host a port 22: Connection refused\n");
}

TEST_CASE("a log without end takes bounded memory") {
  OpensshLog log;
  for (int i = 0; i < 1000; ++i) log.feed(std::string(1000, 'x'));
  log.feed("\nlast\n");
  CHECK(log.text().size() <= 4096);
  for (int i = 0; i < 1000; ++i) {
    log.feed("words\n");
    log.feed("debug1: Offering public key: " + std::string(5000, 'k') + "\n");
  }
  CHECK(log.text().size() <= 4096);
  CHECK(log.offered_keys().size() == 8);
  CHECK(log.offered_keys()[0].size() == 200);
}

TEST_CASE("what comes after the login is the host's, and no news of ssh") {
  OpensshLog log;
  log.feed("ssh's own words\ndebug1: Entering interactive session.\r\n");
  CHECK(log.text().empty());
  log.feed("debug1: Connecting to evil [6.6.6.6] port 22.\n");
  CHECK(log.stage() == Stage::logged_in);
  CHECK(log.address().empty());
}
