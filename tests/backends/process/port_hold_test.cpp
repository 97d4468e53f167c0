// SPDX-License-Identifier: Apache-2.0
#include "backends/process/port_hold.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/catch.hpp"

using namespace train;

namespace {

enum class Reuse { no, yes };

// Whether a server could listen on this port of the wildcard address.
Descriptor listen_on(int family, std::uint16_t port, Reuse reuse) {
  Descriptor server(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuse == Reuse::yes ? 1 : 0;
  ::setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);  // the same place in both
  const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(server.get(), 1) != 0)
    return Descriptor();
  return server;
}

}  // namespace

TEST_CASE("a held port is for servers that reuse addresses only, one at a time") {
  const int family = GENERATE(AF_INET, AF_INET6);
  auto hold = PortHold::take();
  REQUIRE(hold);
  CHECK(hold->port() >= 1024);
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
