// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_settings.hpp"

#include "backends/ssh_config/ssh_tokens.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;

namespace {

// What OpenSSH 9.2 printed for a host without any configuration; only the long lists are cut.
const std::string plain_output = R"(host Plain
user root
hostname plain
port 22
addressfamily any
batchmode no
canonicalizefallbacklocal yes
canonicalizehostname false
checkhostip no
compression no
controlmaster false
gssapiauthentication no
hashknownhosts no
identitiesonly no
proxyusefdpass no
pubkeyauthentication true
requesttty auto
stricthostkeychecking ask
connectionattempts 1
ciphers chacha20-poly1305@openssh.com,aes128-ctr
hostkeyalgorithms ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512
kexalgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256
loglevel INFO
macs umac-64-etm@openssh.com,hmac-sha2-256
securitykeyprovider internal
pubkeyacceptedalgorithms ssh-ed25519,rsa-sha2-512
identityfile ~/.ssh/id_rsa
identityfile ~/.ssh/id_ecdsa
identityfile ~/.ssh/id_ecdsa_sk
identityfile ~/.ssh/id_ed25519
identityfile ~/.ssh/id_ed25519_sk
identityfile ~/.ssh/id_xmss
identityfile ~/.ssh/id_dsa
canonicaldomains none
globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2
userknownhostsfile /root/.ssh/known_hosts /root/.ssh/known_hosts2
connecttimeout none
canonicalizePermittedcnames none
ipqos lowdelay throughput
)";

// The same program, for a host with everything set.
const std::string rich_output = R"(host alias
user bob
hostname alias.example.org
port 2222
addressfamily inet6
gssapiauthentication no
hashknownhosts yes
identitiesonly yes
pubkeyauthentication false
stricthostkeychecking accept-new
bindaddress 1.2.3.4
bindinterface eth0
hostkeyalias foo
identityagent /root/.agent/root.sock
pkcs11provider /usr/lib/x.so
securitykeyprovider internal
preferredauthentications publickey,gssapi-with-mic
revokedhostkeys /etc/rev
knownhostscommand /bin/foo %H
identityfile ~/.ssh/a_%h_%n_%r
identityfile /k/with space
identityfile ${FOO}/x
certificatefile ~/.ssh/c-%h
globalknownhostsfile /etc/x /etc/y
userknownhostsfile /root/.ssh/kh_foo /root/.ssh/with space
connecttimeout 7
)";

SshSettings parsed(const std::string& output) {
  const auto settings = parse_ssh_settings(output);
  REQUIRE(settings);
  return *settings;
}

const std::string least = "hostname h\nport 22\n";

}  // namespace

TEST_CASE("a host that nothing is configured for has ssh's defaults") {
  const SshSettings settings = parsed(plain_output);
  CHECK(settings.hostname == "plain");
  CHECK(settings.user == "root");
  CHECK(settings.port == 22);
  CHECK(settings.strict_host_keys == StrictHostKeys::ask);
  CHECK_FALSE(settings.connect_timeout);
  CHECK(settings.public_key_authentication);
  CHECK(settings.identity_agent.empty());
  CHECK(settings.identity_files == default_identities());
  CHECK(are_default_identities(settings.identity_files));
  CHECK(settings.user_known_hosts == Words{"/root/.ssh/known_hosts", "/root/.ssh/known_hosts2"});
  CHECK(settings.global_known_hosts ==
        Words{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"});
  CHECK(settings.key_exchanges == Words{"sntrup761x25519-sha512@openssh.com", "curve25519-sha256"});
  CHECK(settings.macs == Words{"umac-64-etm@openssh.com", "hmac-sha2-256"});
  CHECK(settings.public_key_algorithms == Words{"ssh-ed25519", "rsa-sha2-512"});
}

TEST_CASE("everything that is configured for a host is read") {
  const SshSettings settings = parsed(rich_output);
  CHECK(settings.hostname == "alias.example.org");
  CHECK(settings.user == "bob");
  CHECK(settings.port == 2222);
  CHECK(settings.address_family == AddressFamily::ipv6);
  CHECK(settings.bind_address == "1.2.3.4");
  CHECK(settings.bind_interface == "eth0");
  CHECK(settings.connect_timeout == 7s);
  CHECK(settings.strict_host_keys == StrictHostKeys::accept_new);
  CHECK(settings.hash_known_hosts);
  CHECK(settings.host_key_alias == "foo");
  CHECK(settings.user_known_hosts == Words{"/root/.ssh/kh_foo", "/root/.ssh/with space"});
  CHECK(settings.known_hosts_command == "/bin/foo %H");
  CHECK(settings.revoked_host_keys == "/etc/rev");
  CHECK(settings.identity_files == Words{"~/.ssh/a_%h_%n_%r", "/k/with space", "${FOO}/x"});
  CHECK_FALSE(are_default_identities(settings.identity_files));
  CHECK(settings.identities_only);
  CHECK(settings.identity_agent == "/root/.agent/root.sock");
  CHECK(settings.certificate_files == Words{"~/.ssh/c-%h"});
  CHECK(settings.pkcs11_provider == "/usr/lib/x.so");
  CHECK_FALSE(settings.public_key_authentication);
  CHECK(settings.preferred_authentications == Words{"publickey", "gssapi-with-mic"});
}

TEST_CASE("every word of an option is understood") {
  const auto strict = [](const std::string& word) {
    return parsed(least + "stricthostkeychecking " + word + "\n").strict_host_keys;
  };
  for (const char* word : {"no", "off", "false"}) CHECK(strict(word) == StrictHostKeys::no);
  for (const char* word : {"yes", "true"}) CHECK(strict(word) == StrictHostKeys::yes);
  CHECK(parsed(least + "proxyjump u@a:2200,b\n").proxy_jump == "u@a:2200,b");
  CHECK(parsed(least + "proxycommand nc %h %p\n").proxy_command == "nc %h %p");
  CHECK(parsed(least + "proxyjump none\nproxycommand none\n").proxy_jump.empty());
  CHECK(parsed(least + "identityagent none\n").identity_agent == "none");
  CHECK(parsed(least + "identityfile none\n").identity_files.empty());
  CHECK(parsed(least + "userknownhostsfile none\n").user_known_hosts.empty());
  CHECK(parsed(least + "pubkeyauthentication unbound\n").public_key_authentication);
  CHECK(parsed("hostname fe80::1\nport 1").hostname == "fe80::1");
}

TEST_CASE("what is no output of ssh -G is refused, with the line that is wrong") {
  for (const char* line : {"port 0", "port 65536", "port x", "port 22 ", "connecttimeout -1",
                           "connecttimeout 99999999", "addressfamily ipv6",
                           "stricthostkeychecking maybe", "identitiesonly perhaps"}) {
    CAPTURE(line);
    const auto settings = parse_ssh_settings(least + line + "\n");
    REQUIRE_FALSE(settings);
    CHECK(settings.error().error_class == ErrorClass::host);
    CHECK(settings.error().diagnostics.front().message.find(line) != std::string::npos);
  }
  for (const std::string& output : {std::string(), std::string("hostname h\n"),
                                    std::string("port 22\n"), std::string(2u << 20, 'a')}) {
    CHECK_FALSE(parse_ssh_settings(output));
  }
  std::string many = least;
  for (int i = 0; i < 1001; ++i) many += "identityfile /k\n";
  CHECK_FALSE(parse_ssh_settings(many));
}

TEST_CASE("tokens of a path are expanded as ssh does") {
  const SshTokens tokens{"/home/me", "me",  "1000", "box.lan", "h.example.org",
                         "h",        "ali", "bob",  2222};
  const auto variable = [](const char* name) -> const char* {
    return std::string(name) == "KEYS" ? "/keys" : nullptr;
  };
  const auto expanded = [&](const char* path) {
    return expand_ssh_path(path, tokens, variable).value_or("refused");
  };
  CHECK(expanded("~/.ssh/id") == "/home/me/.ssh/id");
  CHECK(expanded("/k/~/100%%") == "/k/~/100%");
  CHECK(expanded("%d/%u/%i/%l/%L/%h/%n/%k/%r/%p") ==
        "/home/me/me/1000/box.lan/box/h.example.org/h/ali/bob/2222");
  CHECK(expanded("${KEYS}/a$b") == "/keys/a$b");
  for (const char* path : {"~other/.ssh/id", "/k/%C", "/k/%", "${NONE}/k", "${KEYS"})
    CHECK(expanded(path) == "refused");
}
