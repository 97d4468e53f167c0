// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/host_check.hpp"

#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;

TEST_CASE("an interface that is there, up and with an address is accepted") {
  const auto there = check_interface("lo");
  if (!there) SKIP_CASE("the loopback interface is down here");
  CHECK(there);
}

TEST_CASE("an interface that is not there is refused with those that are") {
  const auto there = check_interface("eth9 of nobody");
  REQUIRE_FALSE(there);
  CHECK(there.error().error_class == ErrorClass::host);
  const Diagnostic& problem = there.error().diagnostics.front();
  CHECK(problem.message.starts_with("it has no network interface 'eth9 of nobody': there "));
  CHECK(problem.hint.starts_with("correct 'interface' in the hosts file"));
}
