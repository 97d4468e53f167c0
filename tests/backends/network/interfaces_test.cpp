// SPDX-License-Identifier: Apache-2.0
#include "backends/network/interfaces.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

// A host with the interfaces that a test puts there.
class FakeNetwork {
 public:
  // One that is there and running. `folder` is below /sys/class/net/NAME.
  void interface(const std::string& name, const std::string& address, int prefix = 24) {
    entries.push_back({name, address, prefix, true, false});
    std::filesystem::create_directories(folder_of(name));
  }
  void device(const std::string& name, const std::string& address, int speed) {
    interface(name, address);
    port(name);
    set_speed(name, std::to_string(speed));
  }
  // A device without an address, as the ports of bonds are.
  void port(const std::string& name) const {
    std::filesystem::create_directories(folder_of(name) + "/device");
  }
  void set_speed(const std::string& name, const std::string& text) const {
    std::ofstream(folder_of(name) + "/speed") << text << "\n";
  }
  void put_on(const std::string& upper, const std::string& lower) const {
    std::filesystem::create_directories(folder_of(lower));
    std::filesystem::create_symlink("../" + lower, folder_of(upper) + "/lower_" + lower);
  }
  void rdma(const std::string& device, const std::string& name) const {
    std::filesystem::create_directories(files().sys + "/class/infiniband/" + device +
                                        "/device/net/" + name);
  }

  NetworkFiles files() const { return {.sys = root_.path() + "/sys"}; }
  std::vector<NetworkAddress> addresses() const { return network_addresses(entries, files()); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const NetworkAddress& each : addresses()) names.push_back(each.interface);
    return names;
  }
  NetworkAddress only() const {
    const auto all = addresses();
    REQUIRE(all.size() == 1);
    return all.front();
  }

  std::vector<InterfaceEntry> entries;

 private:
  std::string folder_of(const std::string& name) const {
    return files().sys + "/class/net/" + name;
  }

  TemporaryDirectory root_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a device is listed with its address, network and speed") {
  FakeNetwork host;
  host.device("eth0", "10.1.255.3", 25'000);
  host.entries.front().prefix = 20;
  CHECK(host.only() == NetworkAddress{"eth0", "10.1.255.3", "10.1.240.0/20", 25'000, false, false});
}

TEST_CASE("one address is taken of an interface") {
  FakeNetwork host;
  SECTION("its first IPv4 address") {
    host.interface("eth0", "2001:db8::3", 64);
    host.interface("eth0", "10.0.0.3");
    host.interface("eth0", "10.0.0.4");
    CHECK(host.only().address == "10.0.0.3");
  }
  SECTION("no link-local one where there is another") {
    host.interface("eth0", "169.254.7.7", 16);
    host.interface("eth0", "10.0.0.3");
    CHECK(host.only().address == "10.0.0.3");
  }
  SECTION("a link-local one where there is no other of IPv4") {
    host.interface("eth0", "2001:db8::3", 64);
    host.interface("eth0", "169.254.7.7", 16);
    CHECK(host.only().address == "169.254.7.7");
    CHECK(host.only().network == "169.254.0.0/16");
  }
  SECTION("an IPv6 address where there is none of IPv4") {
    host.interface("eth0", "fe80::1", 64);
    host.interface("eth0", "febf::1", 64);
    host.interface("eth0", "fd00::3", 64);
    host.interface("eth0", "2001:db8::3", 64);
    CHECK(host.only().address == "fd00::3");
    CHECK(host.only().network == "fd00::/64");
  }
  SECTION("not the one of a label, which is no interface") {
    host.interface("eth0:1", "10.0.0.4");
    host.interface("eth0", "10.0.0.3");
    CHECK(host.only().address == "10.0.0.3");
  }
}

TEST_CASE("an interface at which nobody is reached is left out") {
  FakeNetwork host;
  host.interface("eth0", "10.0.0.3");
  SECTION("one that is down or has no carrier") { host.entries.front().is_running = false; }
  SECTION("a loopback, whatever addresses it has") { host.entries.front().is_loopback = true; }
  SECTION("one with a loopback's address") { host.entries.front().address = "127.0.1.1"; }
  SECTION("one with no address yet") { host.entries.front().address = "0.0.0.0"; }
  SECTION("one with an IPv6 loopback") { host.entries.front().address = "::1"; }
  SECTION("one with a link-local IPv6 address alone") { host.entries.front().address = "fe80::1"; }
  SECTION("one with what is no address") { host.entries.front().address = "eth0"; }
  CHECK(host.addresses().empty());
}

TEST_CASE("what has no device below it is virtual") {
  FakeNetwork host;
  SECTION("Docker's and libvirt's bridges, with what they connect") {
    for (const std::string bridge : {"docker0", "virbr0"}) {
      host.interface(bridge, "172.17.0.1", 16);
      host.put_on(bridge, "veth1a2b3c4");
      host.put_on(bridge, "vnet0");
    }
    host.interface("veth9", "10.9.0.1");
    CHECK(host.names() == Names{"docker0", "veth9", "virbr0"});
    for (const NetworkAddress& each : host.addresses()) CHECK(each.is_virtual);
  }
  SECTION("not a bond of ports") {
    host.interface("bond0", "10.0.0.3");
    host.port("eth0");
    host.put_on("bond0", "eth0");
    host.put_on("bond0", "eth1");
    CHECK_FALSE(host.only().is_virtual);
  }
  SECTION("not a VLAN on a bridge on a bond on a port") {
    host.interface("br0.7", "10.0.7.3");
    host.put_on("br0.7", "br0");
    host.put_on("br0", "vnet0");
    host.put_on("br0", "bond0");
    host.put_on("bond0", "eth0");
    host.port("eth0");
    CHECK_FALSE(host.only().is_virtual);
  }
  SECTION("nor does one that stands on itself take for ever") {
    host.interface("a", "10.0.0.3");
    host.put_on("a", "b");
    host.put_on("b", "a");
    host.put_on("b", "b");
    CHECK(host.only().is_virtual);
  }
  SECTION("one that the kernel does not show") {
    host.entries.push_back({"eth0", "10.0.0.3", 24, true, false});
    CHECK(host.only().is_virtual);
  }
}

TEST_CASE("a speed that is none is not known") {
  FakeNetwork host;
  host.device("eth0", "10.0.0.3", 1000);
  CHECK(host.only().speed == 1000);
  const auto text = GENERATE("-1", "4294967295", "0", "", "fast", "1000 or so", "10000001",
                             "99999999999999999999999");
  CAPTURE(text);
  host.set_speed("eth0", text);
  CHECK(host.only().speed == 0);
}

TEST_CASE("interfaces of InfiniBand and RoCE devices have RDMA") {
  FakeNetwork host;
  host.device("ib0", "10.1.0.3", 200'000);
  host.device("eth0", "10.0.0.3", 100'000);
  host.device("eth1", "10.2.0.3", 25'000);
  host.rdma("mlx5_0", "ib0");
  host.rdma("mlx5_1", "eth0");
  const auto all = host.addresses();
  REQUIRE(host.names() == Names{"ib0", "eth0", "eth1"});
  CHECK(all[0].has_rdma);
  CHECK(all[1].has_rdma);
  CHECK_FALSE(all[2].has_rdma);
}

TEST_CASE("devices come first, then fast ones, then names in order") {
  FakeNetwork host;
  host.interface("docker0", "172.17.0.1", 16);
  host.interface("veth0", "10.9.0.1");
  host.set_speed("veth0", "10000");
  host.device("eth1", "10.0.1.3", 1000);
  host.device("eth0", "10.0.0.3", 1000);
  host.device("eth2", "10.0.2.3", 100'000);
  host.device("eth3", "10.0.3.3", -1);
  const Names order{"eth2", "eth0", "eth1", "eth3", "veth0", "docker0"};
  CHECK(host.names() == order);
  std::reverse(host.entries.begin(), host.entries.end());
  CHECK(host.names() == order);
}

TEST_CASE("of hundreds of interfaces the best are listed") {
  FakeNetwork host;
  for (int i = 0; i < 400; ++i)
    host.interface("cali" + std::to_string(i), "10.2." + std::to_string(i / 200) + ".1", 32);
  host.device("eth0", "10.0.0.3", 1000);
  host.device("eth1", "10.0.1.3", 100'000);
  const auto names = host.names();
  REQUIRE(names.size() == most_network_addresses);
  CHECK(Names(names.begin(), names.begin() + 4) == Names{"eth1", "eth0", "cali0", "cali1"});
}

TEST_CASE("names that variables cannot carry are left out") {
  FakeNetwork host;
  host.interface("enp3s0f0@x", "10.0.0.3");
  for (const char* name : {"", ".", "..", "a,b", "a b", "a\nb", "../eth0", "a/b", "eth0:1",
                           "\x1b[m", "\xff\xfe", "sixteen-letters-"})
    host.entries.push_back({name, "10.0.0.4", 24, true, false});
  CHECK(host.names() == Names{"enp3s0f0@x"});
}

TEST_CASE("the addresses of this machine are those of its kernel") {
  const auto entries = interface_entries();
  const auto is_own = [](const InterfaceEntry& each) {
    return each.address == "127.0.0.1" && each.is_loopback && each.prefix == 8;
  };
  CHECK(std::any_of(entries.begin(), entries.end(), is_own));
  for (const NetworkAddress& address : network_addresses()) {
    CAPTURE(address.interface, address.address);
    CHECK(address.interface != "lo");
    CHECK(std::any_of(entries.begin(), entries.end(), [&](const InterfaceEntry& each) {
      return each.interface == address.interface && each.address == address.address &&
             address.network.ends_with("/" + std::to_string(each.prefix));
    }));
  }
}
