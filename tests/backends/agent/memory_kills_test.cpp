// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/memory_kills.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr const char* of_cgroup =
    "6,339,5140900,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,"
    "oom_memcg=/box,task_memcg=/box/train-x-1,task=python3,pid=4711,uid=1000\n SUBSYSTEM=memory\n";
constexpr const char* of_host =
    "6,340,7000000,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,"
    "global_oom,task_memcg=/box,task=a,pid=1,uid=0,pid=12,uid=0\n";
constexpr const char* sentence =
    "3,341,7000100,-;Memory cgroup out of memory: Killed process 4711 (python3) "
    "total-vm:1234kB, anon-rss:1000kB\n";

/// Files as those of the kernel, in cgroups /box and /box/ranks.
struct FakeKernel {
  TemporaryDirectory directory;
  MemoryKillPlaces places{directory.path() + "/kmsg", directory.path() + "/cgroup",
                          directory.path() + "/none", true};
  std::string ranks = directory.path() + "/cgroup/box/ranks";

  FakeKernel() {
    std::filesystem::create_directories(ranks);
    count("box/ranks", 3, 0);
    count("box", 5, 2);
    (void)directory.write("cgroup/box/memory.max", "2147483648\n");
    (void)directory.write("cgroup/box/ranks/memory.max", "max\n");
    (void)directory.write("kmsg", "");
  }
  void count(const std::string& cgroup, int kills, int hits) const {
    (void)directory.write("cgroup/" + cgroup + "/memory.events",
                          "low 0\nhigh 0\nmax 7\noom " + std::to_string(hits) + "\noom_kill " +
                              std::to_string(kills) + "\noom_group_kill 0\n");
  }
};

}  // namespace

TEST_CASE("the kernel's log says whom it has killed for want of memory, and of whose") {
  const auto kill = memory_kill_in(of_cgroup);
  REQUIRE(kill);
  CHECK(*kill ==
        KernelMemoryKill{4711, "python3", true, "/box", std::chrono::microseconds(5'140'900)});
  const auto other = memory_kill_in(of_host);
  REQUIRE(other);
  CHECK(other->pid == 12);
  CHECK(other->name == "a,pid=1,uid=0");
  CHECK_FALSE(other->is_of_cgroup);
  const auto old = memory_kill_in(sentence);
  REQUIRE(old);
  CHECK(old->pid == 4711);
  CHECK(old->name == "python3");
  CHECK(old->is_of_cgroup);
  for (const char* record :
       {"", ";", "6,1,2,-;", "6,1,2,-;oom-kill:", "6,1,2,-;oom-kill:,task=a,pid=,uid=0",
        "6,1,2,-;usb 1: Killed process 3 (x) total-vm", "6,1,2,-;Out of memory: Killed process x",
        "6,1,2,-;Out of memory: Killed process 3 )x( total-vm"}) {
    CAPTURE(record);
    CHECK_FALSE(memory_kill_in(record));
  }
}

TEST_CASE("the counts of the cgroup tell a kill for want of memory from one by somebody") {
  const FakeKernel kernel;
  MemoryKills kills(kernel.ranks, kernel.places);
  CHECK_FALSE(kills.kill_of(1));
  SECTION("by the limit of a cgroup around it, once for each kill") {
    kernel.count("box/ranks", 5, 0);
    kernel.count("box", 7, 3);
    const message::MemoryKill expected{"its cgroup's limit of 2 GiB", ""};
    CHECK(kills.kill_of(1) == expected);
    CHECK(kills.kill_below() == expected);
    CHECK_FALSE(kills.kill_of(3));
  }
  SECTION("by its own limit, which is not said") {
    kernel.count("box/ranks", 4, 1);
    CHECK(kills.kill_of(1)->limit == "its cgroup's limit");
  }
  SECTION("by what the host has") {
    kernel.count("box/ranks", 4, 0);
    kernel.count("box", 6, 2);
    CHECK(kills.kill_of(1)->limit == "the host's memory");
  }
  SECTION("but not of others beside it") {
    kernel.count("box", 9, 3);
    CHECK_FALSE(kills.kill_of(1));
  }
}

TEST_CASE("the kernel's log is believed about a rank's own number, where that is its number") {
  FakeKernel kernel;
  (void)kernel.directory.write(
      "kmsg",
      "6,339,99999999999999,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),"
      "cpuset=a,mems_allowed=0,oom_memcg=/box,task_memcg=/box/ranks,task=python3,pid=4711,"
      "uid=0\n");
  SECTION("in the host's process namespace") {
    MemoryKills kills(kernel.ranks, kernel.places);
    CHECK(kills.kill_of(4711) ==
          message::MemoryKill{"its cgroup's limit of 2 GiB", "4711 (python3)"});
    CHECK_FALSE(kills.kill_of(4712));
  }
  SECTION("not in another one") {
    kernel.places.has_host_pids = false;
    MemoryKills kills(kernel.ranks, kernel.places);
    CHECK_FALSE(kills.kill_of(4711));
  }
  SECTION("nor what it said of an earlier process of this number") {
    (void)kernel.directory.write("kmsg", of_cgroup);
    MemoryKills kills(kernel.ranks, kernel.places);
    CHECK_FALSE(kills.kill_of(4711));
  }
}

TEST_CASE("where nothing of memory can be read, nothing is said") {
  MemoryKills kills("/nowhere", {"/nowhere/kmsg", "/nowhere", "/nowhere", true});
  CHECK_FALSE(kills.kill_of(1));
  CHECK_FALSE(kills.kill_below());
}

TEST_CASE("a rank that the kernel kills for want of memory is told so, one that is killed is not") {
  const std::string memory = "/sys/fs/cgroup/memory";
  const std::string own = memory + "/train-test-" + std::to_string(::getpid());
  if (!std::filesystem::exists(memory + "/memory.limit_in_bytes") ||
      ::access("/dev/kmsg", R_OK) != 0 || ::mkdir(own.c_str(), 0755) != 0)
    SKIP_CASE("no limit of memory can be set here");
  AgentUnderTest agent;
  agent.start({"echo 33554432 >" + own + "/memory.limit_in_bytes && echo $$ >" + own +
                   "/cgroup.procs && exec awk 'BEGIN { s = \"x\"; while (1) s = s s }'",
               "kill -KILL $$"});
  std::vector<message::RankEnded> ends(2);
  for (int i = 0; i < 2; ++i) {
    const auto end = agent.next<message::RankEnded>();
    ends.at(static_cast<std::size_t>(end.rank)) = end;
  }
  (void)agent.next<message::Finished>();
  agent.send(message::Bye{});
  CHECK(agent.wait() == 0);
  ::rmdir(own.c_str());
  CHECK(ends[0].signal == 9);
  REQUIRE(ends[0].memory_kill);
  CHECK(ends[0].memory_kill->limit.starts_with("its cgroup's limit"));
  CHECK(ends[0].memory_kill->process.ends_with(" (awk)"));
  CHECK(ends[1].signal == 9);
  CHECK_FALSE(ends[1].memory_kill);
}
