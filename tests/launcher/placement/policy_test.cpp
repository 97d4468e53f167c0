// SPDX-License-Identifier: Apache-2.0
// Determined's rule and Ray's policies on hosts whose slots are GPUs.
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

using Used = std::vector<std::pair<std::string, int>>;

struct AutoCase {
  int slots;
  std::vector<int> sizes;
  bool allow_heterogeneous;
  Used expected;  // empty: never
  std::vector<int> nearest;
};

}  // namespace

TEST_CASE("auto places as Determined does") {
  const std::vector<AutoCase> cases{
      {10, {1, 5, 10}, false, {{"n3", 10}}, {}},
      {16, {8, 7, 7, 4, 4, 4, 4}, false, {{"n4", 4}, {"n5", 4}, {"n6", 4}, {"n7", 4}}, {}},
      {16, {3, 3, 3, 3, 3}, false, {}, {15}},
      {12, {8, 8}, false, {}, {8, 16}},
      {8, {4, 4, 4, 4, 4}, false, {{"n1", 4}, {"n2", 4}}, {}},
      {4, {2, 1, 1}, false, {}, {2}},
      {4, {2, 1, 1}, true, {{"n1", 2}, {"n2", 1}, {"n3", 1}}, {}},
      {10, {8, 6, 4}, true, {{"n2", 6}, {"n3", 4}}, {}},
      {10, {8, 6, 4}, false, {}, {8}},
      {1, {4, 1}, false, {{"n2", 1}}, {}},
      {2, {4, 4}, false, {{"n1", 2}}, {}},
      {5, {8, 6, 6}, false, {{"n2", 5}}, {}},
      {9, {8, 6, 4}, true, {}, {8, 10}},
      {100, {8, 8}, false, {}, {16}},
  };
  for (const AutoCase& each : cases) {
    CAPTURE(each.slots, each.sizes, each.allow_heterogeneous);
    ExperimentConfig experiment = slot_experiment(each.slots);
    experiment.allow_heterogeneous = each.allow_heterogeneous;
    const auto plan = make_plan(experiment, gpu_inventory(each.sizes));
    REQUIRE(plan.has_value() == !each.expected.empty());
    if (plan)
      CHECK(used_hosts(*plan) == each.expected);
    else
      CHECK(plan.error().nearest == each.nearest);
  }
}

TEST_CASE("a single-node trial never leaves its host") {
  ExperimentConfig experiment = slot_experiment(8);
  experiment.is_single_node = true;
  const auto plan = make_plan(experiment, gpu_inventory({4, 4}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() ==
        "8 slots asked on one host (is_single_node), the largest, n1, has 4; the 2 hosts: n1 4, n2 "
        "4");
  CHECK(plan.error().nearest == std::vector<int>{4});
  const auto fits = make_plan(experiment, gpu_inventory({4, 9, 8}));
  REQUIRE(fits);
  CHECK(used_hosts(*fits) == Used{{"n3", 8}});
}

TEST_CASE("Ray's policies place as they say") {
  struct Case {
    PlacementPolicy policy;
    int workers;
    std::vector<int> sizes;
    Used expected;
  };
  const std::vector<Case> cases{
      {PlacementPolicy::pack, 12, {8, 8}, {{"n1", 8}, {"n2", 4}}},
      {PlacementPolicy::pack, 10, {4, 8}, {{"n1", 2}, {"n2", 8}}},
      {PlacementPolicy::pack, 12, {8, 8, 4}, {{"n1", 8}, {"n3", 4}}},
      {PlacementPolicy::pack, 3, {2, 4, 3}, {{"n3", 3}}},
      {PlacementPolicy::pack, 17, {8, 8}, {}},
      {PlacementPolicy::spread, 5, {4, 1, 4}, {{"n1", 2}, {"n2", 1}, {"n3", 2}}},
      {PlacementPolicy::spread, 2, {4, 4, 4}, {{"n1", 1}, {"n2", 1}}},
      {PlacementPolicy::spread, 9, {4, 1, 4}, {{"n1", 4}, {"n2", 1}, {"n3", 4}}},
      {PlacementPolicy::spread, 10, {4, 1, 4}, {}},
      {PlacementPolicy::strict_pack, 4, {8, 4}, {{"n2", 4}}},
      {PlacementPolicy::strict_pack, 5, {4, 4}, {}},
      {PlacementPolicy::strict_spread, 2, {4, 4, 4}, {{"n1", 1}, {"n2", 1}}},
      {PlacementPolicy::strict_spread, 3, {4, 0, 4}, {}},
  };
  for (const Case& each : cases) {
    CAPTURE(static_cast<int>(each.policy), each.workers, each.sizes);
    ExperimentConfig experiment = gpu_experiment(each.workers, 1);
    experiment.placement = each.policy;
    const auto plan = make_plan(experiment, gpu_inventory(each.sizes));
    REQUIRE(plan.has_value() == !each.expected.empty());
    if (plan) CHECK(used_hosts(*plan) == each.expected);
  }
}

TEST_CASE("ranks are numbered host by host in file order, inside a host by slot") {
  ExperimentConfig experiment = slot_experiment(10);
  experiment.placement = PlacementPolicy::pack;
  const auto plan = make_plan(experiment, gpu_inventory({4, 8}));
  REQUIRE(plan);
  const Trial& trial = plan->trial;
  REQUIRE(trial.world_size == 10);
  CHECK(trial.hosts[0].slots == std::vector<int>{0, 1});
  CHECK(trial.hosts[1].first_rank == 2);
  for (int rank = 0; rank < 10; ++rank) {
    CAPTURE(rank);
    CHECK(trial.ranks[rank].rank == rank);
    CHECK(trial.ranks[rank].host == (rank < 2 ? 0 : 1));
    CHECK(trial.ranks[rank].local_rank == (rank < 2 ? rank : rank - 2));
    CHECK(trial.ranks[rank].slots == std::vector<int>{trial.ranks[rank].local_rank});
  }
}

TEST_CASE("one rank per host owns all slots and the whole batch of its workers") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.processes = Processes::per_host;
  experiment.global_batch_size = 40;
  const auto plan = make_plan(experiment, gpu_inventory({2, 2}));
  REQUIRE(plan);
  CHECK(plan->trial.world_size == 2);
  CHECK(plan->trial.hosts[1].worker_count == 2);
  CHECK(rank_slots(*plan) == std::vector<std::vector<int>>{{0, 1}, {0, 1}});
  CHECK(plan->trial.ranks[1].batch_size == 20u);
  CHECK(plan->trial.ranks[1].batch_offset == 20u);
}

TEST_CASE("the same inputs give the same plan") {
  const auto first = make_plan(slot_experiment(16), gpu_inventory({8, 7, 7, 4, 4, 4, 4}));
  const auto second = make_plan(slot_experiment(16), gpu_inventory({8, 7, 7, 4, 4, 4, 4}));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->trial == second->trial);
}
