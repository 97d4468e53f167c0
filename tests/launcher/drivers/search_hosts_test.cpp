// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/search_hosts.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

HostInventory inventory(const std::string& yaml) {
  return parse_hosts({"hosts.yaml", yaml}).value();
}

std::vector<std::string> names_of(const HostInventory& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts.hosts) names.push_back(host.name);
  return names;
}

using Names = std::vector<std::string>;

HostUse slot_of(const std::string& host, int slot) {
  return {host, "others", {{slot, Quantity::of(1)}}};
}

constexpr Instant start = 1'000s;

}  // namespace

TEST_CASE("a host is left out for longer each time, until ranks start there") {
  const HostInventory all = inventory("hosts: [{name: a, slots: 2}, {name: b, slots: 2}]\n");
  SearchHosts hosts(all);
  CHECK(hosts.leave_out("b", start) == 1min);
  CHECK_FALSE(hosts.leave_out("b", start + 1s));  // of another trial that was there
  CHECK(names_of(hosts.left()) == Names{"a"});
  CHECK(hosts.next_deadline() == start + 1min);
  CHECK_FALSE(hosts.tick(start + 59s));
  CHECK(hosts.tick(start + 1min));
  CHECK(names_of(hosts.left()) == Names{"a", "b"});
  CHECK(hosts.leave_out("b", start + 2min) == 2min);
  CHECK(hosts.tick(start + 4min));
  hosts.started_on(slot_of("b", 0));
  CHECK(hosts.leave_out("b", start + 5min) == 1min);
  for (int i = 0; i < 9; ++i) {
    hosts.tick(start + 1h);
    hosts.leave_out("b", start);
  }
  hosts.tick(start + 2h);
  CHECK(hosts.leave_out("b", start) == 16min);
}

TEST_CASE("where there is no room, hosts that have failed once are back before their time") {
  const HostInventory all = inventory("hosts: [{name: a, slots: 2}, {name: b, slots: 2}]\n");
  SearchHosts hosts(all);
  hosts.leave_out("a", start);
  hosts.leave_out("b", start);
  CHECK(hosts.take_back_early());
  CHECK(names_of(hosts.left()) == Names{"a", "b"});
  hosts.leave_out("a", start);
  CHECK_FALSE(hosts.take_back_early());
  CHECK(names_of(hosts.left()) == Names{"b"});
}

TEST_CASE("the hosts of a TPU slice are left out together") {
  const HostInventory all = inventory(
      "defaults: {slots: 4, accelerator_type: TPU-V4}\n"
      "hosts: [{name: a, slice: s}, {name: b, slice: s}, {name: c, slice: t}, {name: d}]\n");
  SearchHosts hosts(all);
  hosts.leave_out("a", start);
  CHECK(names_of(hosts.left()) == Names{"c", "d"});
  hosts.leave_out("d", start);
  CHECK(names_of(hosts.left()) == Names{"c"});
}

TEST_CASE("what others hold is passed over for longer each time, until ranks start on it") {
  const HostInventory all = inventory("hosts: [{name: a, slots: 2}]\n");
  SearchHosts hosts(all);
  hosts.hold(slot_of("a", 1), start);
  CHECK(hosts.are_any_held());
  CHECK(hosts.held() == Occupancy{slot_of("a", 1)});
  CHECK(hosts.next_deadline() == start + 10s);
  hosts.tick(start + 10s);
  CHECK_FALSE(hosts.are_any_held());
  CHECK(hosts.held().empty());
  hosts.hold(slot_of("a", 1), start + 11s);
  CHECK(hosts.next_deadline() == start + 31s);
  hosts.started_on(slot_of("a", 0));
  hosts.tick(start + 31s);
  hosts.started_on(slot_of("a", 1));
  hosts.hold(slot_of("a", 1), start + 32s);
  CHECK(hosts.next_deadline() == start + 42s);
}
