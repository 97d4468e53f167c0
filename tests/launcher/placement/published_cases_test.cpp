// SPDX-License-Identifier: Apache-2.0
// Scheduling cases that other systems publish with their schedulers, in this planner's words: those
// of Determined's agent resource manager, of Ray's placement groups, and Slurm's example of
// consumable resources. Where they break ties by a hash, the order of the file decides here.
#include <fmt/format.h>

#include "launcher/capacity/capacity.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

/// A host of `slots` GPUs of which `used` are taken.
struct Size {
  int slots = 0;
  int used = 0;
};

struct Cluster {
  HostInventory inventory;
  Occupancy occupancy;
};

Cluster cluster_of(const std::vector<Size>& sizes) {
  Cluster cluster;
  std::vector<Host> hosts;
  for (const Size& size : sizes) {
    const std::string name = "n" + std::to_string(hosts.size());
    hosts.push_back(gpu_host(name, size.slots));
    HostUse use{.host = name, .holder = "somebody", .slots = {}};
    for (int slot = 0; slot < size.used; ++slot) use.slots[slot] = Quantity::of(1);
    if (size.used > 0) cluster.occupancy.push_back(std::move(use));
  }
  cluster.inventory = inventory_of(std::move(hosts));
  return cluster;
}

// Indices of the hosts that are used; empty when there is no plan.
std::vector<int> chosen(const ExperimentConfig& experiment, const Cluster& cluster) {
  const auto plan = make_plan(experiment, cluster.inventory, cluster.occupancy);
  std::vector<int> hosts;
  if (!plan) return hosts;
  for (const PlannedHost& host : plan->trial.hosts)
    for (std::size_t i = 0; i < cluster.inventory.hosts.size(); ++i)
      if (cluster.inventory.hosts[i].name == host.host.name) hosts.push_back(static_cast<int>(i));
  return hosts;
}

std::vector<Size> idle(const std::vector<int>& sizes) {
  std::vector<Size> all;
  for (const int size : sizes) all.push_back({size, 0});
  return all;
}

// Workers of so many CPUs, on hosts that have nothing else.
Cluster cpu_cluster(const std::vector<double>& cpus) {
  Cluster cluster;
  std::vector<Host> hosts;
  for (const double each : cpus)
    hosts.push_back(cpu_host("n" + std::to_string(hosts.size()), each));
  cluster.inventory = inventory_of(std::move(hosts));
  return cluster;
}

ExperimentConfig with_policy(ExperimentConfig experiment, PlacementPolicy policy) {
  experiment.placement = policy;
  return experiment;
}

}  // namespace

TEST_CASE("Determined's cases of one host, best fit") {
  struct Row {
    std::vector<Size> hosts;
    int slots;
    bool is_single_node;
    std::vector<int> expected;
  };
  const Row row = GENERATE(values<Row>({
      {{{2}, {4}}, 2, false, {0}},
      {{{1}, {4}}, 1, false, {0}},
      {{{4}, {1}}, 1, false, {1}},
      {{{4}, {1}}, 4, false, {0}},
      {{{4}, {4}}, 1, false, {0}},
      {{{2}, {4, 2}}, 2, false, {0}},
      {{{4}, {4}}, 2, false, {0}},
      {{{4}, {4}}, 2, true, {0}},
      {{{1}, {3}}, 2, true, {1}},
      {{{1}, {3}}, 2, false, {1}},
      {{{1}, {3, 1}}, 2, true, {1}},
      {{{4, 4}, {4}}, 1, false, {1}},
  }));
  ExperimentConfig experiment = slot_experiment(row.slots);
  experiment.is_single_node = row.is_single_node;
  CHECK(chosen(experiment, cluster_of(row.hosts)) == row.expected);
}

TEST_CASE("Determined's cases of hosts used wholly") {
  struct Row {
    int slots;
    std::vector<Size> hosts;
    bool is_heterogeneous;
    std::vector<int> expected;
  };
  const Row row = GENERATE(values<Row>({
      {10, idle({1, 5, 10}), false, {2}},
      {16, idle({8, 7, 7, 4, 4, 4, 4}), false, {3, 4, 5, 6}},
      {16, idle({3, 3, 3, 3, 3}), false, {}},
      {12, idle({8, 8, 3, 3, 3}), false, {}},
      {8, idle({4, 4, 4, 4, 4}), false, {0, 1}},
      {4, idle({2, 1, 1}), true, {0, 1, 2}},
      {4, idle({2, 1, 1}), false, {}},
      // Hosts of one size come first, though 2 + 1 + 1 are fewer.
      {4, idle({2, 1, 1, 1, 1}), true, {1, 2, 3, 4}},
      {4, idle({2, 1, 1, 1}), true, {0, 1, 2}},
      {8, idle({2, 1, 1}), true, {}},
      {63, idle({32, 32, 16, 16, 8, 8, 4, 4, 2, 2, 1, 1}), true, {0, 2, 4, 6, 8, 10}},
      {12, idle({8, 6, 4}), true, {0, 2}},
      // A greedy choice takes the 8 and finds nothing for the other 2.
      {10, idle({8, 6, 4}), true, {1, 2}},
      {12, idle({8, 6, 6}), true, {1, 2}},
      {14, idle({8, 8, 6}), true, {0, 2}},
      {12, {{6}, {6}, {12, 1}}, false, {0, 1}},
      {8, {{4}, {4, 1}, {4}}, false, {0, 2}},
      {8, {{4}, {4, 1}}, false, {}},
  }));
  CAPTURE(row.slots);
  ExperimentConfig experiment = slot_experiment(row.slots);
  experiment.allow_heterogeneous = row.is_heterogeneous;
  CHECK(chosen(experiment, cluster_of(row.hosts)) == row.expected);
}

TEST_CASE("Determined: a host with a disabled slot is a smaller host") {
  Cluster cluster = cluster_of(idle({8, 7}));
  cluster.inventory.hosts[0].slot_indices = {0, 1, 2, 4, 5, 6, 7};
  CHECK(chosen(slot_experiment(14), cluster) == std::vector<int>{0, 1});
}

TEST_CASE("Determined: tasks without slots do not keep a host from being used wholly") {
  Cluster cluster = cluster_of(idle({4, 4}));
  cluster.occupancy.push_back({.host = "n0", .holder = "a notebook", .slots = {}});
  CHECK(chosen(slot_experiment(8), cluster) == std::vector<int>{0, 1});
}

TEST_CASE("Determined: max_slots limits the trials that run at once") {
  struct Row {
    int slots;
    std::int64_t max_slots;
    std::int64_t at_once;
  };
  const Row row = GENERATE(values<Row>({{1, 1, 1}, {1, 3, 3}, {2, 3, 1}, {2, 8, 4}, {4, 100, 2}}));
  ExperimentConfig experiment = slot_experiment(row.slots);
  experiment.search = {.trials = 50, .most_slots = row.max_slots};
  const auto plan = make_plan(experiment, gpu_inventory({4, 4}));
  REQUIRE(plan);
  REQUIRE(plan->trials);
  CHECK(plan->trials->at_once == row.at_once);
}

TEST_CASE("Ray's placement groups: where bundles of one kind fit") {
  struct Row {
    PlacementPolicy policy;
    std::vector<double> nodes;  // CPUs
    int bundles;
    double cpus;        // of each
    std::size_t hosts;  // that are used; 0: none fits
  };
  using enum PlacementPolicy;
  const Row row = GENERATE(values<Row>({
      {strict_pack, {8, 2, 4}, 2, 2, 1},
      {strict_spread, {10, 10}, 3, 1, 0},
      {strict_pack, {10, 10}, 1, 50, 0},
      {strict_spread, {10}, 1, 1, 1},
      {pack, {4, 4}, 2, 2, 1},
      {strict_pack, {4, 4}, 2, 2, 1},
      {spread, {4, 4}, 2, 2, 2},
      {strict_spread, {4, 4, 4}, 3, 2, 3},
      {spread, {2}, 2, 2, 0},
      {spread, {4, 4}, 4, 2, 2},
      {strict_pack, {1}, 2, 1, 0},
      {strict_spread, {2, 1}, 2, 2, 0},
      {strict_spread, {2, 1, 2}, 2, 2, 2},
  }));
  CAPTURE(row.nodes, row.bundles, row.cpus);
  const auto experiment = with_policy(cpu_experiment(row.bundles, row.cpus), row.policy);
  CHECK(chosen(experiment, cpu_cluster(row.nodes)).size() == row.hosts);
}

TEST_CASE("Ray's placement groups: not now is not never") {
  Cluster cluster = cpu_cluster({4, 4});
  for (const char* name : {"n0", "n1"})
    cluster.occupancy.push_back(
        {.host = name, .holder = "task 1 of alice", .slots = {}, .cpus = Quantity::of(3)});
  const auto experiment = with_policy(cpu_experiment(4, 2), PlacementPolicy::spread);
  const auto plan = make_plan(experiment, cluster.inventory, cluster.occupancy);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == Refusal::Kind::busy);
  REQUIRE(plan.error().holders.size() == 1);
  CHECK(plan.error().holders[0].hosts == std::vector<std::string>{"n0", "n1"});
}

TEST_CASE("Ray's placement groups: label selectors") {
  Cluster cluster = cpu_cluster({10, 10});
  cluster.inventory.hosts[0].labels["zone"] = "us-east";
  cluster.inventory.hosts[1].labels["zone"] = "us-west";
  const auto selector = [](const char* zone) {
    return LabelSelector{{"zone", LabelCondition::Kind::one_of, {zone}}};
  };
  ExperimentConfig experiment = with_policy(cpu_experiment(2, 1), PlacementPolicy::strict_pack);
  experiment.label_selectors = {selector("us-east"), selector("us-east")};
  CHECK(chosen(experiment, cluster) == std::vector<int>{0});
  experiment.label_selectors = {selector("us-east"), selector("us-west")};
  CHECK(chosen(experiment, cluster).empty());
  for (const PlacementPolicy policy :
       {PlacementPolicy::pack, PlacementPolicy::spread, PlacementPolicy::strict_spread}) {
    experiment.placement = policy;
    CHECK(chosen(experiment, cluster) == std::vector<int>{0, 1});
    ExperimentConfig nowhere = experiment;
    nowhere.label_selectors = {selector("eu-central")};
    CHECK(chosen(nowhere, cluster).empty());
  }
}

TEST_CASE("a greedy choice of hosts for workers that select differently finds nothing") {
  Cluster cluster = cpu_cluster({4, 4});
  cluster.inventory.hosts[0].labels["disk"] = "fast";
  ExperimentConfig experiment = with_policy(cpu_experiment(2, 2), PlacementPolicy::strict_spread);
  experiment.label_selectors = {{}, {{"disk", LabelCondition::Kind::one_of, {"fast"}}}};
  CHECK(chosen(experiment, cluster) == std::vector<int>{0, 1});
}

TEST_CASE("Ray's fractional GPUs, one request after the other") {
  // What is free of each device before, what is asked, and which devices give it.
  struct Row {
    std::vector<double> free;
    double asked;
    std::vector<int> expected;
  };
  const Row row = GENERATE(values<Row>({
      {{1, 1, 1, 1}, 2, {0, 1}},
      {{0, 0, 1, 1}, 3, {}},
      {{0, 0, 1, 1}, 0.4, {2}},
      {{0, 0, 0.6, 1}, 0.7, {3}},
      {{0, 0, 0.6, 0.3}, 0.3, {3}},
      {{1, 1}, 3, {}},
  }));
  std::vector<Quantity> free;
  for (const double each : row.free) free.push_back(amount(each));
  SlotRoom room(free);
  CHECK(room.take(amount(row.asked)) == row.expected);
}

TEST_CASE("ranks of a host are numbered by device, whatever is held of it") {
  const Occupancy held = {{.host = "n1", .holder = "alice", .slots = {{2, amount(0.5)}}}};
  const auto plan = make_plan(gpu_experiment(3, 0.5), gpu_inventory({3}), held);
  REQUIRE(plan);
  CHECK(rank_slots(*plan) == std::vector<std::vector<int>>{{0}, {0}, {2}});
}

TEST_CASE("Ray's trainer shares the host of rank 0") {
  struct Row {
    std::vector<double> nodes;
    double trainer;
    std::vector<int> expected;
  };
  // Four workers of two CPUs.
  const Row row = GENERATE(values<Row>({
      {{8}, 1, {}},
      {{8}, 0, {0}},
      {{9}, 1, {0}},
      {{4, 4}, 1, {}},
      {{5, 4}, 1, {0, 1}},
      {{3, 3, 3}, 1, {}},
      // Only the second host has room for rank 0 and the trainer, so no worker is on the first.
      {{4, 5, 4}, 1, {1, 2}},
  }));
  CAPTURE(row.nodes, row.trainer);
  ExperimentConfig experiment = with_policy(cpu_experiment(4, 2), PlacementPolicy::pack);
  experiment.trainer.cpus = amount(row.trainer);
  CHECK(chosen(experiment, cpu_cluster(row.nodes)) == row.expected);
}

TEST_CASE("the classic case of workers and a trainer is refused with exactly its sum") {
  ExperimentConfig experiment = with_policy(cpu_experiment(4, 2), PlacementPolicy::pack);
  experiment.trainer.cpus = Quantity::of(1);
  const auto plan = make_plan(experiment, cpu_cluster({8}).inventory);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons[0] ==
        "4 workers of 2 CPUs and a trainer of 1 CPU need 9 CPUs, n0 has 8");
  CHECK(plan.error().changes ==
        std::vector<Change>{{"--set 'scaling_config.trainer_resources={CPU: 0}'"}});
}

TEST_CASE("a trainer that nobody named takes a CPU where CPUs are known") {
  ExperimentConfig experiment = with_policy(cpu_experiment(4, 2), PlacementPolicy::pack);
  experiment.trainer.cpus = Quantity::of(1);
  experiment.trainer.is_default = true;
  const auto refused = make_plan(experiment, cpu_cluster({8}).inventory);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reasons[0] ==
        "4 workers of 2 CPUs and a trainer of 1 CPU (Ray's default) need 9 CPUs, n0 has 8");
  Host unsaid;
  unsaid.name = unsaid.address = "n1";
  unsaid.slots = 4;
  const auto plan = make_plan(experiment, inventory_of({unsaid}));
  REQUIRE(plan);
  CHECK(plan->experiment.trainer.empty());
}

TEST_CASE("Slurm's example of consumable CPUs") {
  Cluster cluster = cpu_cluster({2, 2, 2, 4});
  const auto first = with_policy(cpu_experiment(4, 1), PlacementPolicy::strict_spread);
  CHECK(chosen(first, cluster) == std::vector<int>{0, 1, 2, 3});
  for (const char* name : {"n0", "n1", "n2", "n3"})
    cluster.occupancy.push_back(
        {.host = name, .holder = "job 1", .slots = {}, .cpus = Quantity::of(1)});
  const auto second = with_policy(cpu_experiment(3, 1), PlacementPolicy::strict_spread);
  CHECK(chosen(second, cluster) == std::vector<int>{0, 1, 2});
  for (const char* name : {"n0", "n1", "n2"})
    cluster.occupancy.push_back(
        {.host = name, .holder = "job 2", .slots = {}, .cpus = Quantity::of(1)});
  CHECK(chosen(cpu_experiment(1, 1), cluster) == std::vector<int>{3});
  cluster.occupancy.push_back(
      {.host = "n3", .holder = "job 3", .slots = {}, .cpus = Quantity::of(1)});
  const auto waiting = make_plan(cpu_experiment(3, 1), cluster.inventory, cluster.occupancy);
  REQUIRE_FALSE(waiting);
  CHECK(waiting.error().kind == Refusal::Kind::busy);
}

TEST_CASE("whole TPU slices are taken, in file order") {
  std::vector<Host> hosts;
  const auto add = [&](const std::string& name, const std::string& slice, int chips) {
    Host host = gpu_host(name, chips);
    host.accelerator_type = "TPU-V4";
    host.slice = slice;
    hosts.push_back(std::move(host));
  };
  add("a0", "a", 4);
  add("b0", "b", 4);  // half a slice: its other host is not there
  add("a1", "a", 4);
  add("c0", "c", 4);
  add("c1", "c", 4);
  add("d0", "", 4);
  Cluster cluster{.inventory = inventory_of(std::move(hosts)), .occupancy = {}};
  ExperimentConfig experiment = slot_experiment(2);
  experiment.needs.slots = Quantity::of(4);
  experiment.needs.tpus_named = true;
  experiment.needs.accelerator_type = "TPU-V4";
  experiment.slices = SliceNeeds{1, 2, 4, 1, "2x2x2"};
  CHECK(chosen(experiment, cluster) == std::vector<int>{0, 2});
  experiment.workers = 4;
  experiment.slices->slices = 2;
  const auto two = make_plan(experiment, cluster.inventory);
  REQUIRE(two);
  REQUIRE(two->trial.slices.size() == 2);
  CHECK(two->trial.slices[0] == PlannedSlice{"a", {0, 1}});
  CHECK(two->trial.slices[1] == PlannedSlice{"c", {2, 3}});
  CHECK(two->trial.hosts[3].slice == 1);
  CHECK(two->trial.hosts[3].slice_worker == 1);
  experiment.workers = 6;
  experiment.slices->slices = 3;
  const auto three = make_plan(experiment, cluster.inventory);
  REQUIRE_FALSE(three);
  CHECK(three.error().reasons[0] ==
        "3 TPU slices of topology 2x2x2 asked (2 hosts of 4 chips each), 2 are whole: a whole, b "
        "1 host, c whole, d0 1 host");
  CHECK(three.error().nearest == std::vector<int>{16});
  // A slice that is used in part is not free.
  cluster.occupancy.push_back({.host = "c1", .holder = "bob", .slots = {{0, Quantity::of(1)}}});
  experiment.workers = 4;
  experiment.slices->slices = 2;
  const auto busy = make_plan(experiment, cluster.inventory, cluster.occupancy);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().kind == Refusal::Kind::busy);
}
