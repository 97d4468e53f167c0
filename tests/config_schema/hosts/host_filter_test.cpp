// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_filter.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

HostInventory hosts_of(const std::string& list) {
  auto inventory = parse_host_list({"-H", list});
  REQUIRE(inventory);
  return std::move(*inventory);
}

// "w0 w1[0,3]", or the first message.
std::string filtered(const std::string& list, FilterKind kind, const std::string& filter) {
  const auto left = filter_hosts(hosts_of(list), kind, filter);
  if (!left) {
    CHECK(left.error().error_class == ErrorClass::hosts);
    return left.error().diagnostics.front().message;
  }
  std::string text;
  for (const Host& host : left->hosts) {
    text += (text.empty() ? "" : " ") + host.name;
    std::string slots;
    for (const int slot : host.slot_indices)
      slots += (slots.empty() ? "" : ",") + std::to_string(slot);
    if (!slots.empty()) text += "[" + slots + "]";
  }
  return text;
}

std::string include(const std::string& filter, const std::string& list = "w0:4,w1:4") {
  return filtered(list, FilterKind::include, filter);
}

std::string exclude(const std::string& filter, const std::string& list = "w0:4,w1:4") {
  return filtered(list, FilterKind::exclude, filter);
}

}  // namespace

TEST_CASE("included hosts and slots are left, in the order of the inventory") {
  CHECK(include("w1:0,3") == "w1[0,3]");
  CHECK(include("w1") == "w1");
  CHECK(include("w1@w0") == "w0 w1");
  CHECK(include("w1:3,0@w0:2") == "w0[2] w1[0,3]");
  CHECK(include("w[0-1]:1-2") == "w0[1,2] w1[1,2]");
  CHECK(include("w[0,1]:0,2-3") == "w0[0,2,3] w1[0,2,3]");
}

TEST_CASE("excluded hosts and slots are not left") {
  CHECK(exclude("w0:1") == "w0[0,2,3] w1");
  CHECK(exclude("w1") == "w0");
  CHECK(exclude("w0:0,1@w1:3") == "w0[2,3] w1[0,1,2]");
  CHECK(exclude("w0:0-3") == "w1");
  CHECK(exclude("w[0-1]:0") == "w0[1,2,3] w1[1,2,3]");
}

TEST_CASE("what is said twice counts once, and what is said of a host adds up") {
  CHECK(include("w1:0,0") == "w1[0]");
  CHECK(include("w1:1@w1:0,1") == "w1[0,1]");
  CHECK(include("w1:0@w1") == "w1");
  CHECK(exclude("w1:0@w1:2") == "w0 w1[1,3]");
  CHECK(exclude("w1@w1:2") == "w0");
  CHECK(include("w1:0-3") == "w1");
}

TEST_CASE("hosts are named in any case of letters") {
  CHECK(include("W1") == "w1");
  CHECK(exclude("W[0-1]:1") == "w0[0,2,3] w1[0,2,3]");
}

TEST_CASE("slots are those that the host has") {
  HostInventory gpus = hosts_of("g:8");
  gpus.hosts[0].accelerators = 4;
  CHECK_FALSE(filter_hosts(gpus, FilterKind::include, "g:4"));
  CHECK(filter_hosts(gpus, FilterKind::include, "g:3"));
  HostInventory cpus = hosts_of("c");
  CHECK_FALSE(filter_hosts(cpus, FilterKind::include, "c:0"));
  CHECK(filter_hosts(cpus, FilterKind::include, "c"));
  CHECK(filter_hosts(cpus, FilterKind::exclude, "c")
            .error()
            .diagnostics[0]
            .message.find("leaves nothing") != std::string::npos);
  cpus.hosts[0].cpus = Quantity::of(2);
  CHECK(filter_hosts(cpus, FilterKind::include, "c:1"));
  CHECK_FALSE(filter_hosts(cpus, FilterKind::include, "c:2"));
}

TEST_CASE("addresses are filtered in brackets") {
  CHECK(include("[::1]:0", "[::1]:2,n1") == "::1[0]");
  CHECK(exclude("[::1]", "[::1]:2,n1") == "n1");
  CHECK(include("10.0.0.[1-2]:0", "10.0.0.[1-3]:2") == "10.0.0.1[0] 10.0.0.2[0]");
}

TEST_CASE("filters that cannot be meant are refused") {
  CHECK(include("w2") == "there is no host 'w2'");
  CHECK(include("w[1-4]") == "there are no hosts w[2-4]");
  CHECK(include("w0:4") == "'w0' has no slot 4");
  CHECK(include("w0:2,9-12") == "'w0' has no slot 9");
  CHECK(exclude("w0@w1") == "--exclude leaves none of the 2 hosts");
  CHECK(include("") == "the list of hosts is empty");
  CHECK(include("@w0") == "a host is missing beside '@'");
  CHECK(include("w0@") == "a host is missing beside '@'");
  CHECK(include("w0@@w1") == "a host is missing beside '@'");
  CHECK(include("w0:") == "a slot is missing");
  CHECK(include("w0:0,") == "a slot is missing");
  CHECK(include("w0:x") == "'x' is no slot: they count from 0");
  CHECK(include("w0:-1") == "'-1' is no slot: they count from 0");
  CHECK(include("w0:3-1") == "the range '3-1' runs backwards");
  CHECK(include("w0:99999999999") == "'99999999999' is no slot: they count from 0");
  CHECK(include("w0,w1") == "hosts are separated by '@' here");
  CHECK(include("w0,w1:0") == "hosts are separated by '@' here");
  CHECK(include(":0") == "a host's name is missing");
  CHECK(include("w[0") == "'[' is not closed in 'w[0'");
  CHECK(include("w0:0:1") == "'0:1' is no slot: they count from 0");
  CHECK(include("w0\x01") == "the list holds the control character 0x01");
}

TEST_CASE("all faults of a filter are told") {
  const auto left = filter_hosts(hosts_of("w0:4,w1"), FilterKind::include, "w3@w0:7@w1:0@w0:a");
  REQUIRE_FALSE(left);
  CHECK(left.error().diagnostics.size() == 4);
}

TEST_CASE("very many hosts are filtered") {
  const auto left = filter_hosts(hosts_of("n[1-65536]:8"), FilterKind::exclude, "n[1-65535]:0-6");
  REQUIRE(left);
  CHECK(left->hosts.size() == 65'536);
  CHECK(left->hosts.front().slot_indices == std::vector<int>{7});
  CHECK(left->hosts.back().slot_indices.empty());
}

TEST_CASE("a filter of very many slots is refused before it is made") {
  const auto left = filter_hosts(hosts_of("n[1-65536]:1023"), FilterKind::exclude, "n[1-65536]:0");
  REQUIRE_FALSE(left);
  CHECK(left.error().diagnostics.size() == 1);
  std::string ranges = "w0:0-65535";
  for (int i = 0; i < 10'000; ++i) ranges += ",0-65535";
  CHECK(include(ranges) == "'w0' has no slot 4");
  auto large = parse_hosts({"hosts", "w0 slots=65536\n"});
  REQUIRE(large);
  CHECK(filter_hosts(std::move(*large), FilterKind::include, ranges));
}
