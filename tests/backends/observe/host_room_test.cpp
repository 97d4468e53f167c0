// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/host_room.hpp"

#include <filesystem>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

namespace {

void write_group(const TemporaryDirectory& mounted, const std::string& group,
                 const std::string& most, const std::string& used) {
  std::filesystem::create_directories(mounted.path() + group);
  mounted.write(group.substr(1) + "/pids.max", most + "\n");
  mounted.write(group.substr(1) + "/pids.current", used + "\n");
}

}  // namespace

TEST_CASE("a limit that leaves enough is no problem, one that leaves less is told with numbers") {
  RoomLimit limit{
      "its 2 ranks take 2 processes", "user 7", "processes, ulimit -u", 2, 8, 10, "end"};
  CHECK(shortages({limit}).empty());
  limit.used = 9;
  const auto problems = shortages({limit});
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message ==
        "its 2 ranks take 2 processes, but user 7 has 9 of at most 10 (processes, ulimit -u)");
  CHECK(problems[0].hint == "end");
}

TEST_CASE("the control groups above a process count, where they have a limit") {
  const TemporaryDirectory mounted;
  write_group(mounted, "/jobs", "100", "90");
  write_group(mounted, "/jobs/one", "max", "5");
  write_group(mounted, "/jobs/one/step", "20", "5");
  const auto limits = cgroup_limits("0::/jobs/one/step\n", mounted.path());
  REQUIRE(limits.size() == 2);
  CHECK(limits[0].used_by == "control group '/jobs/one/step'");
  CHECK(limits[0].most == 20);
  CHECK(limits[1].used_by == "control group '/jobs'");
  CHECK(limits[1].used == 90);
}

TEST_CASE("a hierarchy of its own for pids comes before the unified one") {
  const TemporaryDirectory mounted;
  write_group(mounted, "/pids/old", "7", "3");
  write_group(mounted, "/new", "8", "4");
  const auto limits =
      cgroup_limits("3:cpu,cpuacct:/x\n2:devices,pids:/old\n0::/new\n", mounted.path());
  REQUIRE(limits.size() == 1);
  CHECK(limits[0].most == 7);
}

TEST_CASE("text that names no group gives no limit") {
  const TemporaryDirectory mounted;
  for (const char* text : {"", "\n", "0", "0:", "0::", "::\n::", "0::relative", "1:name=x:/a"})
    CHECK(cgroup_limits(text, mounted.path()).empty());
}

TEST_CASE("this machine has room for a few ranks, and not for a million") {
  CHECK(shortages(room_limits(2, 1)).empty());
  CHECK_FALSE(shortages(room_limits(1'000'000'000, 1)).empty());
}
