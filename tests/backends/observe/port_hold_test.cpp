// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/port_hold.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/backends/process/port_server.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("a held port is nobody's before it is shared") {
  const int family = GENERATE(AF_INET, AF_INET6);
  auto hold = PortHold::take();
  REQUIRE(hold);
  CHECK(hold->port() >= 1024);
  CHECK_FALSE(listen_on(family, hold->port(), Reuse::no));
  CHECK_FALSE(listen_on(family, hold->port(), Reuse::yes));
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const OtherUser thief(family, hold->port());
  CHECK_FALSE(thief.listens());
}

TEST_CASE("a shared port is for servers that reuse addresses only, one at a time") {
  const int family = GENERATE(AF_INET, AF_INET6);
  auto hold = PortHold::take();
  REQUIRE(hold);
  hold->share();
  CHECK_FALSE(listen_on(family, hold->port(), Reuse::no));
  const Descriptor server = listen_on(family, hold->port(), Reuse::yes);
  CHECK(server);
  CHECK_FALSE(listen_on(family, hold->port(), Reuse::yes));
}

TEST_CASE("no hold at all is taken where there are not enough descriptors") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 32;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto holds = PortHold::take(50);
  const auto later = PortHold::take(1);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(holds);
  CHECK(holds.error().error_class == ErrorClass::host);
  CHECK(later);
}

TEST_CASE("a released port is anybody's") {
  std::uint16_t port = 0;
  {
    auto hold = PortHold::take();
    REQUIRE(hold);
    port = hold->port();
  }
  CHECK(listen_on(AF_INET6, port, Reuse::no));
}

TEST_CASE("many holds are all different") {
  const auto holds = PortHold::take(50);
  REQUIRE(holds);
  std::vector<std::uint16_t> ports;
  for (const PortHold& hold : *holds) ports.push_back(hold.port());
  CHECK(ports.size() == 50);
  std::sort(ports.begin(), ports.end());
  CHECK(std::adjacent_find(ports.begin(), ports.end()) == ports.end());
}
