// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

TEST_CASE("a machine has CPUs, memory and a name") {
  const Machine machine = describe_machine();
  CHECK(machine.cpus >= 1);
  CHECK(machine.memory > 16U << 20);
  CHECK_FALSE(machine.host_name.empty());
  CHECK(machine.accelerators.empty());
}

TEST_CASE("only CPUs that this process may run on are counted") {
  std::thread([] {  // affinity is a thread's own
    cpu_set_t all;
    REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(describe_machine().cpus == 1);
  })
      .join();
}

TEST_CASE("this machine is known by its names and addresses") {
  const TemporaryDirectory directory;
  const std::string hosts_file = directory.path() + "/hosts";
  std::ofstream(hosts_file) << "127.0.1.1\tgpu-a.cluster.example gpu-a # this one\n"
                               "192.0.2.7 gpu-b.cluster.example gpu-b\n"
                               "# 127.0.0.1 gpu-c\n";
  const NameSource source{.host_name = "Node01.cluster.example", .hosts_file = hosts_file};
  struct Row {
    const char* name;
    bool is_here;
  };
  const auto row = GENERATE(values<Row>({
      {"localhost", true},
      {"LOCALHOST.", true},
      {"127.0.0.1", true},
      {"127.3.2.1", true},
      {"127.1", true},
      {"127.1x", false},
      {"::1", true},
      {"[::1]", true},
      {"::ffff:127.0.0.1", true},
      {"node01.cluster.example", true},
      {"NODE01.cluster.example.", true},
      {"node01", true},
      {"gpu-a", true},
      {"gpu-a.cluster.example", true},
      {"", false},
      {".", false},
      {"node0", false},
      {"node01.cluster", false},
      {"node01.elsewhere.example", false},
      {"gpu-b", false},
      {"gpu-c", false},
      {"192.0.2.7", false},
      {"0.0.0.0", false},
      {"2001:db8::1", false},
      {"localhost.cluster.example", false},
  }));
  CAPTURE(row.name);
  CHECK(is_this_machine(row.name, source) == row.is_here);
}

TEST_CASE("own names are read once, however many are asked for") {
  const TemporaryDirectory directory;
  const auto hosts_file = directory.path() + "/hosts";
  std::ofstream(hosts_file) << "127.0.1.1 gpu-a\n";
  OwnNames names({.host_name = "node01", .hosts_file = hosts_file});
  CHECK(names.contains("gpu-a"));
  std::filesystem::remove(hosts_file);
  CHECK(names.contains("gpu-a"));
  CHECK_FALSE(names.contains("gpu-b"));
  CHECK(names.contains("node01"));
}

TEST_CASE("the kernel's host name is this machine") {
  CHECK(is_this_machine(describe_machine().host_name));
}
