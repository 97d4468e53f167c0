// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/ssh_config_outline.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

SshConfigOutline outline_of(std::string_view text) {
  SshConfigOutline outline;
  outline.add(text);
  return outline;
}

bool share(const SshConfigOutline& outline, const std::string& one, const std::string& other) {
  const auto group = outline.group_of(one);
  return group && group == outline.group_of(other);
}

// What Debian 12 installs, without its comments.
constexpr std::string_view debian =
    "Include /etc/ssh/ssh_config.d/*.conf\n\nHost *\n#   Port 22\n    SendEnv LANG LC_*\n"
    "    HashKnownHosts yes\n    GSSAPIAuthentication yes\n";

}  // namespace

TEST_CASE("a configuration without anything that matters is not asked for") {
  SshConfigOutline outline;
  CHECK(outline.add(debian) == std::vector<std::string>{"/etc/ssh/ssh_config.d/*.conf"});
  CHECK_FALSE(outline.matters());
  outline.add("Host other\n  user=bob\n");
  CHECK(outline.matters());
}

TEST_CASE("hosts share settings when the same Host lines hold for them") {
  const auto outline = outline_of(
      "User me\nHost gpu* !gpu9\n  Port 2222\nHost=\"login\" cpu??\n\tIdentityFile ~/.ssh/%h\n"
      "hOsT a b # c\n  HostName 10.0.0.1\n");
  CHECK(share(outline, "gpu1", "gpu2"));
  CHECK(share(outline, "gpu9", "c"));
  CHECK(share(outline, "cpu01", "login"));
  CHECK(share(outline, "a", "b"));
  CHECK_FALSE(share(outline, "gpu1", "gpu9"));
  CHECK_FALSE(share(outline, "a", "c"));
  CHECK_FALSE(share(outline, "cpu01", "cpu001"));
}

TEST_CASE("criteria that hold for all hosts or none do not part them") {
  // Red Hat's file, and the policy that it includes.
  CHECK(
      share(outline_of("Match final all\n  Include /etc/crypto-policies/back-ends/openssh.config\n"
                       "Ciphers aes256-ctr\n"),
            "a", "b"));
  CHECK(share(outline_of("Match all\n User x\n"), "a", "b"));
}

TEST_CASE("a host is asked for by itself wherever its name could matter otherwise") {
  for (const char* text :
       {"Match host a\n  User x\n", "Match exec \"true\"\n User x\n", "Match !all\n User x\n",
        "HostName %h.example.org\n", "CanonicalizeHostname yes\n", "UserKnownHostsFile ~/.ssh/%h\n",
        "ProxyJump %h-gate\n", "Host \"a b\nUser x\n", "Host a\\*\nUser x\n", "Host 'a'\nUser x\n",
        "\"Host\" a\nUser x\n"}) {
    CAPTURE(text);
    const auto outline = outline_of(text);
    CHECK(outline.matters());
    CHECK_FALSE(outline.group_of("a"));
  }
  // The name of one host is that of all others.
  const auto outline = outline_of("Host node*\n  HostName node01\n");
  CHECK_FALSE(outline.group_of("node01"));
  CHECK(share(outline, "node02", "node03"));
  CHECK_FALSE(outline.group_of("Node02"));
}

TEST_CASE("what cannot be looked into parts all hosts") {
  SshConfigOutline outline;
  outline.add_unknown();
  CHECK(outline.matters());
  CHECK_FALSE(outline.group_of("a"));
}
