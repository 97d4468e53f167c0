// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/live_hosts.hpp"

#include "launcher/live/held_tasks.hpp"
#include "launcher/live/live_picture.hpp"
#include "launcher/picture/picture_text.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"
#include "tests/launcher/live/reports.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;

// "0 .5a 1b": of each slot, who has how much of it.
std::string drawn(const LiveSlots& live) {
  std::string text;
  for (const auto& shares : live.slots) {
    std::string cell;
    for (const SlotShare& share : shares)
      cell += to_string(share.amount) + static_cast<char>('a' + share.holder);
    text += (text.empty() ? "" : " ") + (cell.empty() ? "." : cell);
  }
  return text;
}

std::string picture_of(const std::vector<LiveHost>& hosts) {
  return picture_to_text(draw_live(hosts), {.width = 100});
}

}  // namespace

TEST_CASE("whoever has the place of a slot or its GPU has the slot, once") {
  const HostReport report = report_of(
      {holder_of("aaaaaaaa", {{Kind::cuda, 1}}), holder_of("bbbbbbbb", {{Kind::place, 2}}),
       holder_of("cccccccc", {{Kind::cuda, 3}, {Kind::place, 3}})},
      {0, 1, 2, 3});
  CHECK(drawn(live_slots(gpu_host("n1", 4), report)) == ". 1a 1b 1c");
  CHECK(live_slots(gpu_host("n1", 4), report).kind == LiveSlotKind::gpus);
  CHECK(drawn(live_slots(place_host("n1", 4), report)) == ". 1a 1b 1c");
  CHECK(drawn(live_slots(plain_host("n1"), report)) == ". 1a 1b 1c");
}

TEST_CASE("parts of a slot are told, of several holders each") {
  HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::place, 0}}),
                                 holder_of("bbbbbbbb", {{Kind::place, 0}, {Kind::place, 1}})});
  report.holders[0].leases[0].amount = 2'500;
  report.holders[1].leases[0].amount = 5'000;
  CHECK(drawn(live_slots(place_host("n1", 2), report)) == "0.25a0.5b 1b");
}

TEST_CASE("slots that are held and that the hosts file does not have are there all the same") {
  const HostReport report =
      report_of({holder_of("aaaaaaaa", {{Kind::place, 3}, {Kind::place, 70'000}})});
  const LiveSlots live = live_slots(place_host("n1", 2), report);
  CHECK(drawn(live) == ". . . 1a");
  // No host is made endless by whoever locks a slot with a high number.
  REQUIRE(live.beside[0].size() == 1);
  CHECK(live.beside[0][0].key.index == 70'000);
}

TEST_CASE("a GPU is known by its identity, whatever number it has for its holder") {
  HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::cuda, 0, "GPU-x"}})}, {0, 1});
  report.cuda_names = {"GPU-a", "GPU-b"};
  const LiveSlots live = live_slots(gpu_host("n1", 2), report);
  CHECK(drawn(live) == ". .");
  CHECK(live.beside[0].size() == 1);
  report.holders[0].leases[0].key = {Kind::cuda, 1, "GPU-b"};
  CHECK(drawn(live_slots(gpu_host("n1", 2), report)) == ". 1a");
}

TEST_CASE("slots follow the devices that a session leaves") {
  const HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::cuda, 2}})}, {3, 2});
  CHECK(drawn(live_slots(plain_host("n1"), report)) == ". 1a");
  Host host = gpu_host("n1", 2);
  host.device_indices = {2, 3};
  CHECK(drawn(live_slots(host, report)) == "1a .");
}

TEST_CASE("CPUs are slots where there is nothing else, and are held from the first on") {
  HostReport report = report_of(
      {holder_of("aaaaaaaa", {{Kind::cpus, 0}}), holder_of("bbbbbbbb", {{Kind::cpus, 0}})});
  report.cpus = 4;
  report.holders[0].leases[0].amount = 15'000;
  report.holders[1].leases[0].amount = 10'000;
  LiveSlots live = live_slots(plain_host("n1"), report);
  CHECK(live.kind == LiveSlotKind::cpus);
  CHECK(drawn(live) == "1a 0.5a0.5b 0.5b .");
  CHECK(live.beside[1].empty());
  // More than there are is not lost.
  report.holders[1].leases[0].amount = 50'000;
  live = live_slots(plain_host("n1"), report);
  CHECK(drawn(live) == "1a 0.5a0.5b 1b 1b");
  REQUIRE(live.beside[1].size() == 1);
  CHECK(live.beside[1][0].amount == 25'000);
  CHECK(held_tasks(live_hosts({plain_host("n1")}, {report}))[1].slots == amount(5));
}

TEST_CASE("CPUs beside slots are no slots") {
  HostReport report =
      report_of({holder_of("aaaaaaaa", {{Kind::place, 0}, {Kind::cpus, 0}, {Kind::memory, 0}})});
  report.cpus = 8;
  CHECK(drawn(live_slots(place_host("n1", 2), report)) == "1a .");
  CHECK(held_tasks(live_hosts({place_host("n1", 2)}, {report}))[0].slots == amount(1));
}

TEST_CASE("a task is one over all its hosts, and a machine with two names counts once") {
  HostReport first = report_of({holder_of("aaaaaaaa", {{Kind::place, 0}, {Kind::place, 1}})});
  HostReport second = first;
  second.lease_identity = "other";
  second.holders[0].held_ms = 90'000;
  second.holders[0].is_running = true;
  const auto hosts = live_hosts({place_host("n1", 2), place_host("n2", 2), place_host("n1-ib", 2)},
                                {first, second, first});
  CHECK(hosts[2].same_as == "n1");
  const auto tasks = held_tasks(hosts);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].hosts == std::vector<std::string>{"n1", "n2"});
  CHECK(tasks[0].slots == amount(4));
  CHECK(tasks[0].held_ms == 90'000);
  CHECK(tasks[0].is_running);
  CHECK(tasks[0].user == "alice");
}

TEST_CASE("a task is one's own by the account that holds and the one that asks") {
  HostReport report = report_of(
      {holder_of("aaaaaaaa", {{Kind::place, 0}}), holder_of("bbbbbbbb", {{Kind::place, 1}})});
  report.uid = 7;
  report.holders[0].uid = 7;
  report.holders[0].held_ms = 1;
  report.holders[1].uid = 8;
  report.holders[1].held_ms = 2;
  report.holders[1].user = "";
  const auto tasks = held_tasks(live_hosts({place_host("n1", 2)}, {report}));
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].is_own);
  CHECK_FALSE(tasks[1].is_own);
  CHECK(tasks[1].user == "user 8");
}

TEST_CASE("a task that waits is told with what it wants, until it holds any of it") {
  HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::place, 0}})});
  report.uid = 7;
  Ticket ticket{
      .order = {5, 5, "bbbbbbbb"}, .name = "evals", .wants = "8", .uid = 7, .user = "bob"};
  ticket.waited_ms = 4'000;
  report.tickets = {ticket};
  ticket.order.task = "not an id";
  report.tickets.push_back(ticket);
  HostReport second = report;
  second.holders.clear();
  second.lease_identity = "other";
  const std::vector<Host> hosts = {place_host("n1", 2), place_host("n2", 2)};
  auto tasks = held_tasks(live_hosts(hosts, {report, second}));
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].id == "bbbbbbbb");
  CHECK(tasks[0].hosts == std::vector<std::string>{"n1", "n2"});
  CHECK(tasks[0].held_ms == 4'000);
  CHECK(tasks[0].is_own);
  CHECK(tasks[0].user == "bob");
  CHECK(state_of(tasks[0]) == "waiting");
  CHECK(slots_text(tasks[0]) == "8");
  CHECK(state_of(tasks[1]) == "starting");

  second.holders = {holder_of("bbbbbbbb", {{Kind::place, 1}})};
  second.holders[0].user = "bob";
  tasks = held_tasks(live_hosts(hosts, {report, second}));
  REQUIRE(tasks.size() == 2);
  CHECK(state_of(tasks[1]) == "starting");
  CHECK(slots_text(tasks[1]) == "1");
  CHECK(tasks[1].hosts == std::vector<std::string>{"n2"});
}

TEST_CASE("locks that nobody explains are no task, and are told") {
  HostReport report =
      report_of({holder_of("", {{Kind::place, 1}}), holder_of("; rm -rf", {{Kind::place, 0}})});
  const auto hosts = live_hosts({place_host("n1", 2)}, {report});
  CHECK(held_tasks(hosts).empty());
  CHECK(unknown_holdings(hosts[0]) ==
        std::vector<std::string>{"slot 1 held by a process that belongs to no task",
                                 "slot 0 held by task ; rm -rf ('digits') of alice "
                                 "(launched by process 7 on 'head')"});
}

TEST_CASE("a picture shows who has which slot, and never what is not known as free") {
  HostReport shared =
      report_of({holder_of("aaaaaaaa", {{Kind::place, 0}}), holder_of("", {{Kind::place, 1}})});
  shared.holders[0].leases[0].amount = 5'000;
  HostReport free = report_of({});
  free.lease_identity = "free";
  HostReport unknown = report_of({});
  unknown.lease_trouble = "there is no folder";
  const auto hosts = live_hosts(
      {place_host("n1", 3), place_host("n2", 3), place_host("n3", 3), place_host("n4", 3)},
      {shared, free, unknown, fail(ErrorClass::host, "connection refused")});
  CHECK(picture_of(hosts) ==
        "HOST  FREE  SLOTS\n"
        "n1    1/3   |a+.|  b|  .|\n"
        "n2    3/3   |  .|  .|  .|\n"
        "n3    ?     who holds what is not known: there is no folder\n"
        "n4    ?     unreachable: connection refused\n"
        ". free   +. room for more\n"
        "a held by task aaaaaaaa ('digits') of alice (launched by process 7 on 'head')\n"
        "b held by a process that belongs to no task\n");
}

TEST_CASE("what is held that is no slot is said beside the slots") {
  HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::cpus, 0}})});
  report.holders[0].leases[0].amount = 30'000;
  const auto hosts = live_hosts({place_host("n1", 2)}, {report});
  CHECK(live_notes(hosts[0]) ==
        std::vector<std::string>{"3 CPUs held by task aaaaaaaa ('digits') of alice "
                                 "(launched by process 7 on 'head')"});
  CHECK(free_slots(hosts[0]) == 2);
}

TEST_CASE("every holder of many hosts is drawn") {
  std::vector<Host> hosts;
  std::vector<Result<HostReport>> reports;
  for (int i = 0; i < 64; ++i) {
    hosts.push_back(place_host("n" + std::to_string(i), 2));
    HostReport report = report_of({holder_of("aaaaaaaa", {{Kind::place, i % 2}})});
    report.lease_identity = std::to_string(i);
    report.holders[0].name = "task of " + std::to_string(i);
    reports.emplace_back(report);
  }
  const ClusterPicture picture = draw_live(live_hosts(hosts, reports));
  CHECK(picture.rows.size() == 64);
  CHECK(picture.holders.size() == 64);
}
