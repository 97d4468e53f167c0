// SPDX-License-Identifier: Apache-2.0
#include "cli/show/live_tables.hpp"

#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/cli/captured_stream.hpp"
#include "tests/launcher/builders.hpp"
#include "tests/launcher/live/reports.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;

// One host with GPUs of which one is shared and one used by a process outside of train, one whose
// leases nobody knows, one that is not there.
LeaseHolder foreign() {
  LeaseHolder holder = holder_of("", {{Kind::cuda, 2}});
  holder.pid = 4711;
  holder.user = "bob";
  holder.command = "python3 \"x\", y\x1b";
  return holder;
}

std::vector<LiveHost> three_hosts() {
  HostReport gpus = report_of(
      {holder_of("aaaaaaaa", {{Kind::cuda, 1}}), holder_of("", {{Kind::cuda, 1}}), foreign()},
      {0, 1, 2});
  gpus.holders[0].leases[0].amount = 5'000;
  gpus.holders[0].name = "a,b\x1b";
  gpus.holders[1].leases[0].amount = 2'500;
  gpus.cpus = 96;
  gpus.load_permil = 1'500;
  gpus.memory = std::uint64_t{512} << 30;
  gpus.available = std::uint64_t{1} << 29;
  gpus.driver = "535.54.03";
  gpus.gpu_type = "H200";
  HostReport unknown = report_of({});
  unknown.lease_trouble = "there is no folder";
  return live_hosts({plain_host("g1"), place_host("c1", 4), place_host("gone", 4)},
                    {gpus, unknown, fail(ErrorClass::host, "connection refused")});
}

}  // namespace

TEST_CASE("hosts are listed with what they have, and what is not known is not a number") {
  const std::string table = hosts_to_table(three_hosts());
  CHECK(
      table ==
      "HOST  STATE        SLOTS  FREE  HELD  FOREIGN  OF    GPUS  CPUS  LOAD  MEMORY     AVAILABLE "
      " DRIVER     NOTE\n"
      "g1    up           3      1     1     1        H200  3     96    1.50  512.0 GiB  0.5 GiB   "
      " 535.54.03  GPU 2 held by process 4711 of bob ('python3 \"x\", y\\x1b', of no task)\n"
      "c1    up           -      -     -     -        -     0     0     0.00  0.0 GiB    0.0 GiB   "
      " -          who holds what is not known: there is no folder\n"
      "gone  unreachable  -      -     -     -        -     -     -     -     -          -         "
      " -          connection refused\n");
  CHECK(
      hosts_to_csv(three_hosts()) ==
      "HOST,STATE,SLOTS,FREE,HELD,FOREIGN,SLOTS_ARE,GPUS,GPU_TYPE,CPUS,LOAD,MEMORY,AVAILABLE,"
      "DRIVER,NOTE\r\n"
      "g1,up,3,1,1,1,gpus,3,H200,96,1.50,549755813888,536870912,535.54.03,\"GPU 2 held by process "
      "4711 of bob ('python3 \"\"x\"\", y\\x1b', of no task)\"\r\n"
      "c1,up,,,,,,0,,0,0.00,0,0,,who holds what is not known: there is no folder\r\n"
      "gone,unreachable,,,,,,,,,,,,,connection refused\r\n");
}

TEST_CASE("slots are a line each, and each of their holders") {
  CHECK(slots_to_csv(three_hosts(), 100'000) ==
        "HOST,SLOT,STATE,SHARE,TASK,NAME,USER,LAUNCHER,SINCE,PID,COMMAND\r\n"
        "g1,0,free,0,,,,,,,\r\n"
        "g1,1,held,0.5,aaaaaaaa,\"a,b\\x1b\",alice,process 7 on 'head',95000,,\r\n"
        "g1,1,held,0.25,,,,,,,\r\n"
        "g1,2,foreign,1,,,bob,,,4711,\"python3 \"\"x\"\", y\\x1b\"\r\n"
        "c1,,unknown,,,,,,,,\r\n"
        "gone,,unreachable,,,,,,,,\r\n");
}

TEST_CASE("what the tables have no row for is said, and cannot steer a terminal") {
  std::vector<LiveHost> hosts = three_hosts();
  hosts[2].host.name = "gone\x1b";
  std::string said;
  for (const TerminalText& line : troubles_of(hosts)) said += line.text() + "\n";
  CHECK(said ==
        "host 'c1': who holds what is not known: there is no folder\n"
        "host 'gone\\x1b': unreachable: connection refused\n");
  said.clear();
  for (const TerminalText& line : strangers_of(hosts)) said += line.text() + "\n";
  CHECK(said ==
        "host 'g1': 0.25 of GPU 1 held by a process that belongs to no task\n"
        "host 'g1': GPU 2 held by process 4711 of bob ('python3 \"x\", y\\x1b', of no task)\n");
}

TEST_CASE("the leases of each machine are named, and of many hosts some") {
  std::vector<Host> hosts = {place_host("a", 1), place_host("b", 1), place_host("c", 1)};
  HostReport here = report_of({});
  HostReport hostile = report_of({});
  hostile.lease_identity = "\x1b";
  CHECK(lease_lines(live_hosts(hosts, {here, here, hostile})) ==
        "a: its leases are in /run/lock, with the identity boot:1:2\n"
        "c: its leases are in /run/lock, with the identity \\x1b\n");
  std::string said;
  for (const TerminalText& line : strangers_of(live_hosts(hosts, {here, here, hostile})))
    said += line.text() + "\n";
  CHECK(said ==
        "host 'b' is the same machine as 'a': its leases are in /run/lock, with the identity "
        "boot:1:2\n");
  CHECK(lease_lines({three_hosts()[1], three_hosts()[2]}).empty());
  std::vector<Result<HostReport>> reports;
  for (int i = 0; i < 10; ++i) {
    here.lease_identity = std::to_string(i);
    reports.emplace_back(here);
  }
  const std::string many =
      lease_lines(live_hosts(std::vector<Host>(10, place_host("n", 1)), reports));
  CHECK(many.ends_with("identity 7\nand those of 2 more hosts: --json has all\n"));
}

TEST_CASE("an answer that lacks a host has the code of that") {
  testing::CapturedStream verdict(STDERR_FILENO);
  CHECK(judged(ExitCode(), {three_hosts()[0], three_hosts()[1]}).value() == 0);
  CHECK(judged(ExitCode(), three_hosts()).value() == 76);
  CHECK(judged(ExitCode(66), three_hosts()).value() == 66);
  CHECK(verdict.read_all() == "train: failed: host (exit 76)\n");
}
