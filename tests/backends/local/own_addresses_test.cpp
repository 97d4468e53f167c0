// SPDX-License-Identifier: Apache-2.0
#include "backends/local/own_addresses.hpp"

#include "config_schema/hosts/host_address.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

using Addresses = std::vector<InterfaceAddress>;

const Addresses of_two_networks{{"eth0", "10.0.0.9"}, {"ib0", "10.1.0.9"}, {"ib0", "fd00::9"}};

Host host_of(const char* address, const char* interface = "") {
  Host host;
  host.address = address;
  host.interface = interface;
  return host;
}

}  // namespace

TEST_CASE("a hosts file says by its address or its interface what this machine is reached by") {
  CHECK(declared_address(host_of("10.1.0.9", "eth0"), of_two_networks) == "10.1.0.9");
  CHECK(declared_address(host_of("head", "ib0"), of_two_networks) == "10.1.0.9");
  CHECK(declared_address(host_of("127.0.0.1", "eth0"), of_two_networks) == "10.0.0.9");
  CHECK(declared_address(host_of("localhost"), of_two_networks).empty());
  CHECK(declared_address(host_of("head", "eth9"), of_two_networks).empty());
}

TEST_CASE("an address is certain without a word only where there is one") {
  CHECK(only_address(of_two_networks).empty());
  CHECK(only_address({}).empty());
  CHECK(only_address({{"eth0", "10.0.0.9"}, {"eth0", "fd00::9"}}) == "10.0.0.9");
  CHECK(only_address({{"eth0", "fd00::9"}}) == "fd00::9");
  CHECK(only_address({{"eth0", "fd00::9"}, {"ib0", "fd00::a"}}).empty());
}

TEST_CASE("this machine's addresses leave out those that nobody else reaches") {
  for (const InterfaceAddress& each : interface_addresses()) {
    CAPTURE(each.interface, each.address);
    CHECK_FALSE(each.interface.empty());
    CHECK_FALSE(is_loopback(each.address));
    CHECK_FALSE(each.address.starts_with("fe80:"));
  }
}
