// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/rdma_verdict.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/fitness/finding_lines.hpp"

using namespace train;

namespace {

using Lines = std::vector<std::string>;

const RdmaPort fast{"mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand"};
const RdmaPort narrow{"mlx5_0/1", "ACTIVE", "100 Gb/sec (2X HDR)", "InfiniBand"};
const RdmaPort down{"mlx5_0/1", "DOWN", "10 Gb/sec (4X SDR)", "InfiniBand"};

// Hosts with GPUs, each with these ports.
std::vector<CheckedHost> hosts_with(const std::vector<std::vector<RdmaPort>>& ports) {
  std::vector<CheckedHost> hosts;
  for (const std::vector<RdmaPort>& each : ports) {
    HostFitness fitness;
    fitness.host.gpus.cuda = {0, 1};
    fitness.rdma = each;
    Host host;
    host.name = "node0" + std::to_string(hosts.size() + 1);
    hosts.push_back({host, fitness, {}, {}});
  }
  return hosts;
}

Lines found(const std::vector<CheckedHost>& hosts) {
  return train::testing::lines_of(judge_rdma(hosts), hosts, "rdma");
}
Lines found(const std::vector<std::vector<RdmaPort>>& ports) { return found(hosts_with(ports)); }

}  // namespace

TEST_CASE("ports that are alike, and hosts without any, are well") {
  CHECK(found(std::vector<std::vector<RdmaPort>>{{fast}, {fast}, {fast}}).empty());
  CHECK(found(std::vector<std::vector<RdmaPort>>{{}, {}}).empty());
}

TEST_CASE("a port that is down is found where it is active on as many others") {
  CHECK(found({{fast}, {down}}) ==
        Lines{"node02 unfit: its RDMA port mlx5_0/1 is DOWN, and that of node01 is ACTIVE",
              "node02 fit: none of its RDMA ports is active, so that NCCL takes TCP"});
  const RdmaPort second{"mlx5_1/1", "DOWN", "", ""};
  CHECK(found({{fast, second}, {fast, second}}).empty());  // nobody uses it
}

TEST_CASE("a port that is slower than most is found") {
  CHECK(found({{fast}, {fast}, {narrow}}) ==
        Lines{"node03 unfit: its RDMA port mlx5_0/1 runs at 100 Gb/sec (2X HDR), and that of "
              "node[01-02] at 200 Gb/sec (4X HDR)"});
  CHECK(found({{fast}, {narrow}}).empty());  // two kinds
}

TEST_CASE("a host without RDMA is told where most have it, if it has GPUs") {
  std::vector<CheckedHost> hosts = hosts_with({{fast}, {fast}, {}});
  CHECK(found(hosts) == Lines{"node03 fit: it has no device for RDMA, and node[01-02] have: NCCL "
                              "takes TCP between them"});
  hosts[2].fitness->host.gpus.cuda.clear();
  CHECK(found(hosts).empty());
}

TEST_CASE("a missing libibverbs is a note on all hosts, and unfit on one") {
  std::vector<CheckedHost> hosts = hosts_with({{fast}, {fast}, {}});
  hosts.pop_back();
  for (CheckedHost& host : hosts) host.fitness->devices.verbs_trouble = "libibverbs.so.1: none";
  const std::string words =
      "NCCL takes TCP although there is RDMA, since it cannot load libibverbs: libibverbs.so.1: "
      "none";
  CHECK(found(hosts) == Lines{"node01 fit: " + words, "node02 fit: " + words});
  hosts[0].fitness->devices.verbs_trouble.clear();
  CHECK(found(hosts) == Lines{"node02 unfit: " + words});
  hosts[1].fitness->rdma.clear();  // there is nothing that it were for
  CHECK(found(hosts).empty());
}
