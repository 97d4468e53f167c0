// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/port_listeners.hpp"

#include <unistd.h>

#include <algorithm>

#include "backends/observe/port_hold.hpp"
#include "tests/backends/process/port_server.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

namespace {

// From proc(5), with the widths of real lines.
const std::string header =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";
const std::string listener =
    "   0: 00000000:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
    "498 1 00000000f6ad210c 100 0 0 10 0\n";
const std::string connection =
    "   1: 0100007F:4E22 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1001        0 "
    "499 1 00000000f6ad210c 20 4 30 10 -1\n";
const std::string listener6 =
    " 123: 00000000000000000000000000000000:FFFF 00000000000000000000000000000000:0000 0A "
    "00000000:00000000 00:00000000 00000000 4294967294        0 500 1 00000000f6ad210c\n";

}  // namespace

TEST_CASE("listeners are told from connections, with their port and user") {
  CHECK(listeners_in(header + listener + connection + listener6) ==
        std::vector<PortListener>{{20'001, 1000}, {65'535, 4'294'967'294}});
}

TEST_CASE("what is no table has no listeners") {
  CHECK(listeners_in("").empty());
  CHECK(listeners_in("\n\n").empty());
  CHECK(listeners_in(std::string(100'000, '0')).empty());
  CHECK(listeners_in(std::string("0: \0:1 :", 9) + "0A").empty());
  for (std::size_t length = 0; length < 80; ++length)
    CHECK(listeners_in(listener.substr(0, length)).empty());
}

TEST_CASE("a listener of this host is found, of whichever address family and user") {
  const int family = GENERATE(AF_INET, AF_INET6);
  auto hold = PortHold::take();
  REQUIRE(hold);
  hold->share();
  const auto found = [&]() -> std::vector<PortListener> {
    std::vector<PortListener> all = listeners();
    std::erase_if(all, [&](const auto& one) { return one.port != hold->port(); });
    return all;
  };
  CHECK(found().empty());  // it is held, and nobody listens
  {
    const Descriptor own = listen_on(family, hold->port(), Reuse::yes);
    CHECK(found() == std::vector<PortListener>{{hold->port(), ::geteuid()}});
    CHECK(owner_of_listener(found().at(0)) == ListenerOwner::ours);
  }
  if (::geteuid() != 0) SKIP_CASE("only root can be two users");
  const OtherUser other(family, hold->port());
  CHECK(found() == std::vector<PortListener>{{hold->port(), OtherUser::uid}});
  // It is a child of this process: a rank that runs as somebody else.
  CHECK(owner_of_listener(found().at(0)) == ListenerOwner::ours);
  CHECK(owner_of_listener({hold->port(), OtherUser::uid + 1}) == ListenerOwner::other);
}
