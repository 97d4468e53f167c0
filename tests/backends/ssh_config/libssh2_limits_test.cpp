// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/libssh2_limits.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

// As libssh2 1.10 has them, shortened.
const Libssh2Algorithms algorithms{
    {"curve25519-sha256", "ecdh-sha2-nistp256"},
    {"aes128-ctr", "aes256-ctr"},
    {"hmac-sha2-256"},
    {"ecdsa-sha2-nistp256", "ssh-ed25519", "ssh-rsa"},
};

KnownKey known(const std::string& type) { return {type, "blob", "known_hosts", 7}; }

KnownKey authority() {
  KnownKey key = known("ssh-ed25519");
  key.authority = true;
  return key;
}

std::string reason(const SshSettings& settings, const std::vector<KnownKey>& keys = {}) {
  const auto obstacle = why_not_libssh2(settings, keys, algorithms);
  if (!obstacle) return "none";
  CHECK_FALSE(obstacle->next_step.empty());
  CHECK(obstacle_error(*obstacle).error_class == ErrorClass::host);
  return obstacle->reason;
}

template <class Value>
std::string reason_of(Value SshSettings::*member, Value value) {
  SshSettings settings;
  settings.*member = std::move(value);
  return reason(settings);
}

using Words = std::vector<std::string>;
using S = SshSettings;

}  // namespace

TEST_CASE("libssh2 is good enough for a host with ordinary settings") {
  SshSettings settings;
  settings.key_exchanges = {"sntrup761x25519-sha512@openssh.com", "curve25519-sha256"};
  settings.ciphers = {"chacha20-poly1305@openssh.com", "aes128-ctr"};
  settings.macs = {"umac-64-etm@openssh.com", "hmac-sha2-256"};
  settings.host_key_algorithms = {"ssh-ed25519", "rsa-sha2-512"};
  settings.preferred_authentications = {"gssapi-with-mic", "publickey"};
  CHECK(reason(settings) == "none");
  CHECK(reason(settings, {known("ssh-ed25519"), known("ssh-rsa"), authority()}) == "none");
}

TEST_CASE("what only OpenSSH can do for a host is named") {
  CHECK(reason_of<std::string>(&S::proxy_jump, "gate") == "none");
  CHECK(reason_of<std::string>(&S::proxy_command, "nc %h %p") ==
        "ssh's configuration has ProxyCommand 'nc %h %p' for it");
  CHECK(reason_of<std::string>(&S::bind_address, "10.0.0.1") ==
        "ssh's configuration has BindAddress '10.0.0.1' for it");
  CHECK(reason_of<std::string>(&S::bind_interface, "eth1") ==
        "ssh's configuration has BindInterface 'eth1' for it");
  CHECK(reason_of<Words>(&S::certificate_files, {"~/.ssh/c-cert.pub"}) ==
        "it wants the certificate '~/.ssh/c-cert.pub'");
  CHECK(reason_of<std::string>(&S::pkcs11_provider, "/usr/lib/x.so") ==
        "its keys are in a token ('PKCS11Provider /usr/lib/x.so')");
  CHECK(reason_of(&S::public_key_authentication, false) ==
        "'PubkeyAuthentication no' leaves no way to log in but others than keys");
  CHECK(reason_of<Words>(&S::preferred_authentications,
                         {"gssapi-with-mic", "keyboard-interactive"}) ==
        "'PreferredAuthentications gssapi-with-mic,keyboard-interactive' has no publickey");
  CHECK(reason_of<std::string>(&S::known_hosts_command, "/bin/k %H") ==
        "ssh's configuration has KnownHostsCommand '/bin/k %H' for it");
  CHECK(reason_of<std::string>(&S::revoked_host_keys, "/etc/revoked") ==
        "ssh's configuration has RevokedHostKeys '/etc/revoked' for it");
}

TEST_CASE("algorithms that libssh2 lacks are named") {
  CHECK(reason_of<Words>(&S::key_exchanges, {"sntrup761x25519-sha512@openssh.com"}) ==
        "libssh2 has none of 'KexAlgorithms sntrup761x25519-sha512@openssh.com'");
  CHECK(reason_of<Words>(&S::ciphers, {"chacha20-poly1305@openssh.com"}) ==
        "libssh2 has none of 'Ciphers chacha20-poly1305@openssh.com'");
  CHECK(reason_of<Words>(&S::macs, {"umac-64@openssh.com", "hmac-sha2-256-etm@openssh.com"}) ==
        "libssh2 has none of 'MACs umac-64@openssh.com,hmac-sha2-256-etm@openssh.com'");
  CHECK(reason_of<Words>(&S::host_key_algorithms, {"rsa-sha2-512"}) ==
        "libssh2 has none of 'HostKeyAlgorithms rsa-sha2-512'");
}

TEST_CASE("lines of known_hosts that only OpenSSH can check are named") {
  SshSettings settings;
  CHECK(reason(settings, {authority()}) ==
        "its host key is known through a certificate authority only (known_hosts:7)");
  CHECK(reason(settings, {known("sk-ssh-ed25519@openssh.com")}) ==
        "its known host key is of type sk-ssh-ed25519@openssh.com (known_hosts:7), which libssh2 "
        "cannot check as securely");
  // Without a word about algorithms SHA-1 is what a server may still offer; with ssh's defaults
  // it is not.
  CHECK(reason(settings, {known("ssh-rsa")}) == "none");
  settings.host_key_algorithms = {"ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"};
  CHECK(reason(settings, {known("ssh-rsa")}) ==
        "its known host key is of type ssh-rsa (known_hosts:7), which libssh2 cannot check as "
        "securely");
  // A revoked key says nothing of the others.
  KnownKey revoked = known("ssh-rsa");
  revoked.revoked = true;
  CHECK(reason(settings, {revoked}) == "none");
}

TEST_CASE("common algorithms are in the order in which they are allowed") {
  CHECK(common_algorithms({"c", "x", "a"}, {"a", "b", "c"}) == Words{"c", "a"});
  CHECK(common_algorithms({}, {"a", "b"}) == Words{"a", "b"});
}
