// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/allreduce_verdict.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/fitness/finding_lines.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

/// Hosts with two GPUs each, of which all groups have measured what they are asked to.
struct NcclBench {
  std::vector<CheckedHost> hosts;
  AllReduceCheck check;

  explicit NcclBench(int count) {
    for (int i = 0; i < count; ++i) {
      Host host;
      host.name = "node0" + std::to_string(i + 1);
      hosts.push_back({host, HostFitness(), {}, {}});
      check.hosts.push_back(static_cast<std::size_t>(i));
      for (const int gpu : {0, 1}) {
        check.host_of_rank.push_back(i);
        check.gpu_of_rank.push_back(gpu);
      }
    }
    for (const auto& ranks : groups_of_hosts(check.host_of_rank)) add(ranks);
    std::vector<int> all;
    for (int i = 0; i < count; ++i) all.push_back(i);
    for (const auto& round : rounds_of_pairs(all))
      for (const auto& ranks : groups_of_pairs(round, check.host_of_rank)) add(ranks);
    if (count > 1) add(ranks_of(all, check.host_of_rank));
  }
  void add(const std::vector<int>& members) {
    AllReduceGroup group;
    group.members = members;
    group.report.world = static_cast<int>(members.size());
    group.report.times = {{8, 20us, 0}, {std::uint64_t{1} << 30, 10ms, 0}};
    for (int place = 0; place < group.report.world; ++place)
      group.report.ranks.push_back({.rank = place,
                                    .cuda = "13.0",
                                    .nccl = "2.28.9",
                                    .gpu = "NVIDIA H100",
                                    .network = "IB",
                                    .to_device = 25'000'000'000,
                                    .from_device = 25'000'000'000});
    check.groups.push_back(std::move(group));
  }
  // The last one of just these hosts.
  AllReduceGroup& group(const std::vector<int>& of) {
    for (auto each = check.groups.rbegin(); each != check.groups.rend(); ++each)
      if (hosts_of(*each, check.host_of_rank) == of) return *each;
    FAIL("there is no such group");
    return check.groups.front();
  }
  AllReduceReport& of_host(int host) { return group({host}).report; }
  std::vector<AllReduceGroup*> with(int host) {
    std::vector<AllReduceGroup*> groups;
    for (AllReduceGroup& each : check.groups) {
      const std::vector<int> of = hosts_of(each, check.host_of_rank);
      if (of.size() > 1 && std::find(of.begin(), of.end(), host) != of.end())
        groups.push_back(&each);
    }
    return groups;
  }
  std::vector<std::string> found() const {
    return testing::lines_of(judge_allreduce(check, hosts), hosts, "nccl");
  }
};

using Lines = std::vector<std::string>;

void take(AllReduceGroup& group, nanoseconds time) { group.report.times.back().time = time; }

}  // namespace

TEST_CASE("pairs of hosts come in three rounds at most, none of two hosts") {
  CHECK(rounds_of_pairs({0, 1}).empty());
  CHECK(rounds_of_pairs({0, 1, 2, 3}).size() == 3);
  CHECK(rounds_of_pairs({2, 5, 7}).size() == 3);
  for (const auto& round : rounds_of_pairs({2, 5, 7})) CHECK(round.size() == 1);
  CHECK(rounds_of_pairs({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).size() == 3);
  CHECK(groups_of_pairs({{0, 2}}, {0, 1, 2, 0, 2}) == std::vector<std::vector<int>>{{0, 2, 3, 4}});
  CHECK(groups_of_hosts({1, 0, 1}) == std::vector<std::vector<int>>{{1}, {0, 2}});
}

TEST_CASE("hosts whose NCCL is alike are well") {
  for (const int count : {1, 2, 3, 4, 9}) CHECK(NcclBench(count).found().empty());
  CHECK(allreduce_text(NcclBench(3).check, NcclBench(3).hosts) ==
        Lines{"NCCL 2.28.9 over 6 GPUs of 3 hosts by IB: 179.0 GB/s bus bandwidth at 1 GiB, 20 us "
              "at 8 B",
              "inside a host: 107.4 GB/s (slowest node01: 107.4 GB/s)",
              "between two hosts: 161.1 GB/s (slowest node02 - node03: 161.1 GB/s)",
              "copies to a GPU: 25.0 GB/s (slowest node01 GPU 0: 25.0 GB/s), from it: 25.0 GB/s "
              "(slowest node01 GPU 0: 25.0 GB/s)"});
}

TEST_CASE("a GPU that adds wrong is named once, and not those that add with it") {
  NcclBench bench(3);
  bench.of_host(1).ranks[1].wrong = 2;
  for (AllReduceGroup* group : bench.with(1)) group->report.ranks[0].wrong = 1;
  CHECK(bench.found() == Lines{"node02 unfit: NCCL adds wrong numbers on its GPU 1: 2 of 6 sums"});
  bench.of_host(1).ranks[1].wrong = 0;
  CHECK(bench.found().front() ==
        "node02 unfit: NCCL adds wrong numbers on its GPU 0, together with other hosts: 1 of 6 "
        "sums");
}

TEST_CASE("a host whose GPUs are slow together is named, where three are alike") {
  NcclBench bench(3);
  take(bench.group({2}), 20ms);
  CHECK(bench.found() == Lines{"node03 unfit: NCCL's all-reduce inside it carries 53.7 GB/s, where "
                               "most hosts have 107.4 GB/s"});
  bench.of_host(0).ranks[0].gpu = "NVIDIA L4";
  CHECK(bench.found().empty());
}

TEST_CASE("a GPU whose copies are slow is named by direction") {
  NcclBench bench(2);
  bench.of_host(0).ranks[1].from_device = 12'000'000'000;
  CHECK(bench.found() ==
        Lines{"node01 unfit: copies from its GPU 1 run at 12.0 GB/s, where most have 25.0 GB/s"});
  bench.of_host(0).ranks[1].from_device = 16'000'000'000;
  CHECK(bench.found().empty());
}

TEST_CASE("a host that is slow with all others is named once") {
  NcclBench bench(4);
  for (AllReduceGroup* group : bench.with(1)) take(*group, 100ms);
  CHECK(bench.found() == Lines{"node02 unfit: NCCL's all-reduce with others carries 16.1 GB/s, "
                               "where most hosts have 161.1 GB/s"});
}

TEST_CASE("a pair that is slow twice is named as a pair") {
  NcclBench bench(4);
  take(bench.group({1, 3}), 100ms);
  CHECK(slow_pairs(bench.check.groups, bench.check.host_of_rank) ==
        std::vector<std::pair<int, int>>{{1, 3}});
  bench.add(bench.group({1, 3}).members);
  CHECK(bench.found().empty());  // it was in the way of others
  take(bench.group({1, 3}), 90ms);
  CHECK(bench.found() == Lines{"node04 unfit: NCCL's all-reduce with node02 carries 17.9 GB/s, "
                               "where most hosts have 161.1 GB/s"});
}

TEST_CASE("where NCCL fails the host, the pair or all are told") {
  NcclBench bench(3);
  const auto fail_at = [&](const std::vector<int>& of) {
    AllReduceGroup& group = bench.group(of);
    group.report = {};
    group.troubles = {{0, "remote process exited"}, {1, "got no further"}};
  };
  fail_at({0, 1, 2});
  CHECK(
      bench.found() ==
      Lines{"node01 unfit: NCCL's all-reduce over 6 GPUs of 3 hosts fails: remote process exited"});
  bench.check.groups.pop_back();
  fail_at({0, 2});
  CHECK(bench.found() ==
        Lines{"node03 unfit: NCCL's all-reduce with node01 fails: remote process exited"});
  CHECK_FALSE(have_all_measured(bench.check.groups, {0, 1, 2}, bench.check.host_of_rank));
  CHECK(have_all_measured(bench.check.groups, {0, 1}, bench.check.host_of_rank));
  NcclBench alone(2);
  alone.check.groups.pop_back();
  alone.group({1}).troubles = {{1, "out of memory"}};
  CHECK(alone.found() ==
        Lines{"node02 unfit: NCCL's all-reduce fails on its GPU 1: out of memory"});
  CHECK(able_hosts(alone.check.groups, alone.check.host_of_rank) == std::vector<int>{0});
}

TEST_CASE("another NCCL than most have is named") {
  NcclBench bench(3);
  for (AllReduceRank& rank : bench.of_host(2).ranks) rank.nccl = "2.21.5";
  CHECK(bench.found() == Lines{"node03 unfit: it loads NCCL 2.21.5, where most hosts load 2.28.9"});
}

TEST_CASE("a network for RDMA that NCCL does not take is a note") {
  NcclBench bench(2);
  for (AllReduceGroup& group : bench.check.groups)
    for (AllReduceRank& rank : group.report.ranks) rank.network = "Socket";
  CHECK(bench.found().empty());
  bench.hosts[1].fitness->rdma = {{"mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand"}};
  CHECK(bench.found() ==
        Lines{"node02 fit: NCCL takes TCP between hosts although there are devices for RDMA"});
}
