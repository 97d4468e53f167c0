// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_config/jump_route.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the last jump host connects to the target, those before it lead there") {
  const auto one = parse_jump_route("bastion");
  REQUIRE(one);
  CHECK(one->last == SshDestination{"bastion", "", {}});
  CHECK_FALSE(one->before);
  const auto several = parse_jump_route("me@a:2200,ssh://you@b:22/,[::1]:5");
  REQUIRE(several);
  CHECK(several->last == SshDestination{"::1", "", 5});
  REQUIRE(several->before == "me@a:2200,ssh://you@b:22/");
  const auto two = parse_jump_route(*several->before);
  REQUIRE(two);
  CHECK(two->last == SshDestination{"b", "you", 22});
  CHECK(two->before == "me@a:2200");
  CHECK(parse_jump_route(*two->before)->last == SshDestination{"a", "me", 2200});
}

TEST_CASE("a user may have an @ in the name, and an address stand in brackets") {
  CHECK(parse_jump_route("me@example.org@a")->last == SshDestination{"a", "me@example.org", {}});
  CHECK(parse_jump_route("me@[fe80::1%eth0]")->last == SshDestination{"fe80::1%eth0", "me", {}});
}

TEST_CASE("a ProxyJump that makes no sense is refused with its words") {
  for (const char* text :
       {"", "a,", "a:", "a:0", "a:65536", "a:2x", "me@", "[::1", "[::1]x", ":22"}) {
    CAPTURE(text);
    const auto route = parse_jump_route(text);
    REQUIRE_FALSE(route);
    CHECK(render(route.error()).find("'ProxyJump " + std::string(text) + "'") != std::string::npos);
  }
}
