// SPDX-License-Identifier: Apache-2.0
// The rules on rooms, and Determined's rule and Ray's policies on hosts whose slots are GPUs.
#include "launcher/placement/policies.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "launcher/capacity/whole_hosts.hpp"
#include "launcher/placement/fitting_counts.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

Room idle_room(int slots) { return {slots, slots, std::int64_t{slots} * 10'000, 10'000}; }

Room busy_room(int slots, int free) {
  return {free, free == slots ? slots : 0, std::int64_t{free} * 10'000, 10'000};
}

std::vector<Room> rooms_of(const std::vector<int>& sizes) {
  std::vector<Room> rooms;
  for (const int size : sizes) rooms.push_back(idle_room(size));
  return rooms;
}

// Whether any choice of workers per room obeys the rule: the definition, tried exhaustively.
bool any_placement(const std::vector<Room>& rooms, int workers, const PlacementRule& rule) {
  std::vector<int> counts(rooms.size());
  const auto obeys = [&] {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) used.push_back(i);
    const bool one_host = used.size() == 1;
    switch (rule.policy) {
      case PlacementPolicy::in_order:
      case PlacementPolicy::pack:
      case PlacementPolicy::spread:
        return true;
      case PlacementPolicy::strict_pack:
        return one_host;
      case PlacementPolicy::strict_spread:
        return std::all_of(used.begin(), used.end(), [&](std::size_t i) { return counts[i] == 1; });
      case PlacementPolicy::automatic:
        break;
    }
    if (one_host) return true;
    const bool whole = std::all_of(used.begin(), used.end(), [&](std::size_t i) {
      return rooms[i].is_whole() && counts[i] == rooms[i].fill;
    });
    const bool equal = std::all_of(
        used.begin(), used.end(), [&](std::size_t i) { return counts[i] == counts[used.front()]; });
    return whole && (equal || rule.allow_heterogeneous);
  };
  const std::function<bool(std::size_t, int)> search = [&](std::size_t room, int left) {
    if (room == rooms.size()) return left == 0 && obeys();
    for (counts[room] = 0; counts[room] <= std::min(left, rooms[room].workers); ++counts[room])
      if (search(room + 1, left - counts[room])) return true;
    counts[room] = 0;
    return false;
  };
  return search(0, workers);
}

}  // namespace

TEST_CASE("of equally good hosts the first is taken, however busy the other is") {
  const std::vector<Room> rooms{idle_room(2), busy_room(4, 2)};
  CHECK(choose_hosts(rooms, 2, {}) == std::vector<int>{2, 0});
}

TEST_CASE("packing takes the first of equally good hosts, however roomy the other is") {
  const std::vector<Room> rooms{{2, 0, 40'000, 10'000}, {3, 0, 40'000, 10'000}};
  CHECK(choose_hosts(rooms, 2, {.policy = PlacementPolicy::pack}) == std::vector<int>{2, 0});
}

TEST_CASE("a host in use is no whole host") {
  CHECK_FALSE(choose_hosts({idle_room(4), busy_room(8, 4)}, 8, {}));
  CHECK(choose_hosts({idle_room(4), idle_room(4)}, 8, {}) == std::vector<int>{4, 4});
}

TEST_CASE("a placement is found exactly when there is one") {
  std::mt19937 random(20240607);
  const auto below = [&](int end) { return static_cast<int>(random() % end); };
  constexpr PlacementPolicy policies[] = {
      PlacementPolicy::automatic, PlacementPolicy::in_order,    PlacementPolicy::pack,
      PlacementPolicy::spread,    PlacementPolicy::strict_pack, PlacementPolicy::strict_spread};
  for (int round = 0; round < 3'000; ++round) {
    std::vector<Room> rooms;
    std::vector<int> sizes;
    for (int i = below(5) + 1; i > 0; --i) {
      const int size = below(6) + 1;
      rooms.push_back(below(4) == 0 ? busy_room(size, below(size + 1)) : idle_room(size));
      sizes.push_back(rooms.back().workers);
    }
    const PlacementRule rule{policies[below(6)], false, below(2) == 0};
    const int workers = below(18) + 1;
    CAPTURE(sizes, workers, static_cast<int>(rule.policy), rule.allow_heterogeneous);
    const bool is_possible = any_placement(rooms, workers, rule);
    const auto counts = choose_hosts(rooms, workers, rule);
    REQUIRE(counts.has_value() == is_possible);
    REQUIRE(FittingCounts(rooms, rule).fits(workers) == is_possible);
    if (!counts) continue;
    REQUIRE(std::accumulate(counts->begin(), counts->end(), 0) == workers);
    for (std::size_t i = 0; i < rooms.size(); ++i) REQUIRE((*counts)[i] <= rooms[i].workers);
  }
}

TEST_CASE("mixed whole hosts are as few as possible, the largest first") {
  CHECK(choose_hosts(rooms_of({1, 1, 1, 1, 2, 3, 4}), 6, {.allow_heterogeneous = true}) ==
        std::vector<int>{0, 0, 0, 0, 2, 0, 4});
}

TEST_CASE("a search for a sum that would be too large is not begun") {
  std::vector<SizeGroup> groups;
  for (int size = 1; size <= 1'000; ++size) groups.push_back({size, 1});
  CHECK(is_searchable(groups, 20'000));
  CHECK_FALSE(is_searchable(groups, 100'000'000));
  CHECK_FALSE(hosts_that_sum(groups, 100'000'000));
  CHECK(sums_of_hosts(groups, 100'000'000).empty());
}

namespace {

using Used = std::vector<std::pair<std::string, int>>;

struct AutoCase {
  int slots;
  std::vector<int> sizes;
  bool allow_heterogeneous;
  Used expected;  // empty: never
  std::vector<int> nearest;
};

// An experiment is placed so on hosts "n1", "n2", ... of these sizes; nothing expected: never.
void check_hosts(ExperimentConfig experiment, PlacementPolicy policy, const std::vector<int>& sizes,
                 const Used& expected) {
  experiment.placement = policy;
  const auto plan = make_plan(experiment, gpu_inventory(sizes));
  REQUIRE(plan.has_value() == !expected.empty());
  if (plan) CHECK(used_hosts(*plan) == expected);
}

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

TEST_CASE("in order, each host is filled before the next") {
  struct Case {
    int workers;
    std::vector<int> sizes;
    Used expected;
  };
  const std::vector<Case> cases{
      {3, {2, 1}, {{"n1", 2}, {"n2", 1}}},
      {1, {2, 1}, {{"n1", 1}}},
      {2, {1, 8, 2}, {{"n1", 1}, {"n2", 1}}},
      {8, {4, 8}, {{"n1", 4}, {"n2", 4}}},
      {14, {4, 2, 8}, {{"n1", 4}, {"n2", 2}, {"n3", 8}}},
      {4, {2, 1}, {}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.workers, each.sizes);
    check_hosts(slot_experiment(each.workers), PlacementPolicy::in_order, each.sizes,
                each.expected);
  }
}

TEST_CASE("in order, what others hold of a host is passed over, and a full host is left out") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.placement = PlacementPolicy::in_order;
  const Occupancy held{
      {.host = "n1", .holder = "bob", .slots = {{1, Quantity::of(1)}}},
      {.host = "n2", .holder = "bob", .slots = {{0, Quantity::of(1)}, {1, Quantity::of(1)}}}};
  const auto plan = make_plan(experiment, gpu_inventory({4, 2, 4}), held);
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n1", 3}, {"n3", 1}});
  CHECK(rank_slots(*plan) == std::vector<std::vector<int>>{{0}, {2}, {3}, {0}});
}

TEST_CASE("in order, a worker of two GPUs leaves the odd one of a host") {
  ExperimentConfig experiment = gpu_experiment(3, 2);
  experiment.placement = PlacementPolicy::in_order;
  const auto plan = make_plan(experiment, gpu_inventory({3, 1, 5}));
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n1", 1}, {"n3", 2}});
}

TEST_CASE("in order on one host: the first with room for all") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.placement = PlacementPolicy::in_order;
  experiment.is_single_node = true;
  const auto plan = make_plan(experiment, gpu_inventory({2, 8, 4}));
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n2", 4}});
}

TEST_CASE("in order, rank 0 is on the first host that has room for the trainer as well") {
  ExperimentConfig experiment = slot_experiment(3);
  experiment.placement = PlacementPolicy::in_order;
  experiment.trainer.gpus = Quantity::of(1);
  const auto plan = make_plan(experiment, gpu_inventory({1, 2, 4}));
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n2", 1}, {"n3", 2}});
}

TEST_CASE("in order, more than all hosts have is refused with what each has") {
  ExperimentConfig experiment = slot_experiment(5);
  experiment.placement = PlacementPolicy::in_order;
  const auto plan = make_plan(experiment, gpu_inventory({2, 1}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() == "5 slots asked, the 2 hosts have 3: n1 2, n2 1");
  CHECK(plan.error().nearest == std::vector<int>{3});
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
    check_hosts(gpu_experiment(each.workers, 1), each.policy, each.sizes, each.expected);
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
