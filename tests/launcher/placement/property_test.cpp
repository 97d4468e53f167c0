// SPDX-License-Identifier: Apache-2.0
// On thousands of random small clusters the planner finds a placement exactly when trying
// everything does, and what it plans keeps every promise.
#include <numeric>
#include <random>
#include <set>

#include "launcher/placement/fitting_counts.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"
#include "tests/launcher/placement/brute_force.hpp"

using namespace train;

namespace {

// A sanitizer slows trying everything down by a factor of ten and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int slowdown = 10;
#else
constexpr int slowdown = 1;
#endif

struct Case {
  ExperimentConfig experiment;
  HostInventory inventory;
  Occupancy occupancy;
};

class CaseMaker {
 public:
  /// `kinds`: also hosts without accelerators, and workers without slots.
  explicit CaseMaker(unsigned seed, bool kinds = false) : random_(seed), kinds_(kinds) {}

  Case make() {
    Case made;
    std::vector<Host> hosts;
    const int count = number(1, 4);
    for (int i = 0; i < count; ++i) hosts.push_back(host("n" + std::to_string(i + 1)));
    made.inventory = inventory_of(std::move(hosts));
    made.experiment = experiment();
    if (number(0, 2) == 0) made.occupancy = occupancy(made.inventory);
    return made;
  }

 private:
  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + number(0, static_cast<int>(all.size()) - 1));
  }

  Host host(const std::string& name) {
    Host made = gpu_host(name, number(1, 4));
    const int kind = kinds_ ? number(0, 4) : 0;
    if (kind > 1) made.accelerators.reset();
    if (kind == 2) made.slots = number(1, 4);
    if (kind == 3 || number(0, 1)) made.cpus = Quantity::of(number(1, 8));
    if (number(0, 1)) made.memory = static_cast<std::uint64_t>(number(1, 8)) << 30;
    if (number(0, 1)) made.custom["tape"] = amount(one_of({0.5, 1.0, 2.5}));
    if (number(0, 1)) made.labels["zone"] = one_of<const char*>({"a", "b"});
    made.pool = one_of<const char*>({"east", "west"});
    made.accelerator_type = one_of<const char*>({"A100", "H100"});
    made.weight = one_of({1.0, 1.5, 3.0});
    return made;
  }

  ExperimentConfig experiment() {
    ExperimentConfig made =
        gpu_experiment(number(1, 6), one_of({0.25, 0.3, 0.5, 0.6, 1.0, 1.0, 1.0, 2.0}));
    if (kinds_ && made.needs.slots.is_whole() && number(0, 3) > 0) made.needs.gpus_named = false;
    if (kinds_ && number(0, 2) == 0) {
      made.needs.slots = made.slots = Quantity();
      made.needs.gpus_named = false;
      made.needs.cpus_named = number(0, 1) == 0;
    }
    made.placement =
        one_of({PlacementPolicy::automatic, PlacementPolicy::automatic, PlacementPolicy::in_order,
                PlacementPolicy::pack, PlacementPolicy::spread, PlacementPolicy::strict_pack,
                PlacementPolicy::strict_spread});
    made.allow_heterogeneous = number(0, 2) == 0;
    made.is_single_node = number(0, 9) == 0;
    if (number(0, 2) == 0) made.needs.cpus = amount(one_of({0.5, 1.0, 2.0}));
    if (number(0, 3) == 0) made.needs.memory = std::uint64_t{1} << one_of({29, 30, 31});
    if (number(0, 5) == 0) made.needs.custom["tape"] = amount(one_of({0.25, 0.5}));
    if (number(0, 5) == 0) made.needs.accelerator_type = "A100";
    if (number(0, 5) == 0) made.resource_pool = "east";
    if (number(0, 3) == 0) {
      add_selectors(made);
    } else if (number(0, 2) == 0) {
      made.trainer.cpus = Quantity::of(number(0, 2));
      made.trainer.gpus = amount(one_of({0.0, 0.0, 0.2, 0.5, 1.0}));
      made.trainer.memory = number(0, 1) ? std::uint64_t{1} << 30 : 0;
    }
    if (number(0, 1)) made.global_batch_size = static_cast<std::uint64_t>(number(6, 40));
    made.batch_remainder = one_of({BatchRemainder::drop, BatchRemainder::spread});
    made.batch_split = one_of({BatchSplit::even, BatchSplit::weighted});
    return made;
  }

  void add_selectors(ExperimentConfig& made) {
    const int count = number(0, 1) ? 1 : made.workers;
    for (int i = 0; i < count; ++i) {
      LabelSelector selector;
      const auto kind = one_of({LabelCondition::Kind::one_of, LabelCondition::Kind::none_of,
                                LabelCondition::Kind::exists});
      const std::vector<std::string> values = {one_of<const char*>({"a", "b"})};
      if (number(0, 3) > 0)
        selector.push_back(
            {"zone", kind,
             kind == LabelCondition::Kind::exists ? std::vector<std::string>() : values});
      made.label_selectors.push_back(std::move(selector));
    }
  }

  Occupancy occupancy(const HostInventory& inventory) {
    Occupancy made;
    for (const Host& host : inventory.hosts) {
      if (number(0, 1) == 0) continue;
      HostUse use{.host = host.name, .holder = "alice", .slots = {}};
      for (int slot = 0; slot < host.accelerators.value_or(host.slots.value_or(0)); ++slot)
        if (number(0, 2) == 0) use.slots[slot] = amount(one_of({0.5, 0.7, 1.0}));
      if (host.cpus && number(0, 1)) use.cpus = Quantity::of(1);
      if (host.memory && number(0, 1)) use.memory = std::uint64_t{1} << 30;
      made.push_back(std::move(use));
    }
    return made;
  }

  std::mt19937 random_;
  bool kinds_;
};

std::vector<int> counts_of(const Plan& plan, const HostInventory& inventory) {
  std::vector<int> counts(inventory.hosts.size());
  for (const PlannedHost& host : plan.trial.hosts)
    for (std::size_t h = 0; h < inventory.hosts.size(); ++h)
      if (inventory.hosts[h].name == host.host.name) counts[h] = host.worker_count;
  return counts;
}

std::size_t hosts_used(const std::vector<int>& counts) {
  return static_cast<std::size_t>(
      std::count_if(counts.begin(), counts.end(), [](int n) { return n > 0; }));
}

// No device beyond what is free of it; the trainer has its own beside the first rank.
void check_devices(const Case& each, const Plan& plan) {
  for (const PlannedHost& host : plan.trial.hosts) {
    std::map<int, std::int64_t> used;
    for (const HostUse& use : each.occupancy)
      if (use.host == host.host.name)
        for (const auto& [slot, share] : use.slots) used[slot] += share.parts();
    for (int i = 0; i < host.rank_count; ++i) {
      const PlannedRank& rank = plan.trial.ranks[host.first_rank + i];
      const std::int64_t share = std::min(Quantity::scale, each.experiment.needs.slots.parts());
      REQUIRE(static_cast<std::int64_t>(rank.slots.size()) ==
              std::max<std::int64_t>(1, each.experiment.needs.slots.whole()));
      for (const int slot : rank.slots) used[slot] += share;
    }
    const Quantity of_trainer = each.experiment.trainer.gpus;
    if (host.first_rank == 0 && !of_trainer.is_zero()) {
      REQUIRE(plan.trial.trainer_slots.size() == 1);
      used[plan.trial.trainer_slots.front()] += of_trainer.parts();
    }
    for (const auto& [slot, parts] : used) {
      CHECK(slot < *host.host.accelerators);
      CHECK(parts <= Quantity::scale);
    }
  }
}

// Ranks are numbered host by host in file order, and their batches follow one another.
void check_ranks(const Case& each, const Plan& plan) {
  int next = 0;
  std::uint64_t sum = 0;
  std::size_t file_order = 0;
  for (std::size_t h = 0; h < plan.trial.hosts.size(); ++h) {
    const PlannedHost& host = plan.trial.hosts[h];
    while (each.inventory.hosts[file_order].name != host.host.name) ++file_order;
    CHECK(host.first_rank == next);
    for (int i = 0; i < host.rank_count; ++i, ++next) {
      const PlannedRank& rank = plan.trial.ranks[next];
      CHECK(rank.rank == next);
      CHECK(rank.local_rank == i);
      CHECK(rank.host == static_cast<int>(h));
      if (!rank.batch_size) continue;
      CHECK(rank.batch_offset == sum);
      CHECK(*rank.batch_size >= 1);
      sum += *rank.batch_size;
    }
  }
  CHECK(next == each.experiment.workers);
  if (!plan.trial.batch_sum) return;
  CHECK(plan.trial.batch_sum == sum);
  const bool is_whole = each.experiment.batch_split == BatchSplit::weighted ||
                        each.experiment.batch_remainder == BatchRemainder::spread;
  if (is_whole) CHECK(sum == each.experiment.global_batch_size);
}

// Of all placements, one that the policy prefers.
void check_preference(const Case& each, const std::vector<int>& counts,
                      const std::vector<std::vector<int>>& all) {
  std::size_t fewest = counts.size();
  std::size_t most = 0;
  for (const auto& other : all) {
    fewest = std::min(fewest, hosts_used(other));
    most = std::max(most, hosts_used(other));
  }
  const PlacementPolicy policy = each.experiment.placement;
  if (policy == PlacementPolicy::pack) CHECK(hosts_used(counts) == fewest);
  if (policy == PlacementPolicy::spread && each.experiment.trainer.empty())
    CHECK(hosts_used(counts) == most);
  if (policy == PlacementPolicy::automatic) {
    if (fewest == 1) CHECK(hosts_used(counts) == 1);
  }
  // No earlier host could take more.
  if (policy == PlacementPolicy::in_order)
    CHECK(counts == *std::max_element(all.begin(), all.end()));
}

/// How often each answer was given.
struct Answers {
  int placed = 0;
  int busy = 0;
  int never = 0;
};

// Plans random cases, and compares each answer with what trying everything finds.
template <class CheckSlots>
Answers compare(CaseMaker& maker, int cases, CheckSlots check_slots) {
  Answers answers;
  for (int i = 0; i < cases; ++i) {
    const Case each = maker.make();
    const auto all = brute_force::placements(each.experiment, each.inventory, each.occupancy);
    const auto idle = brute_force::placements(each.experiment, each.inventory, {});
    const auto plan = make_plan(each.experiment, each.inventory, each.occupancy);
    CAPTURE(i, to_string(each.experiment.placement), each.experiment.workers,
            to_string(each.experiment.needs.slots), all.size(), idle.size());
    if (!plan) {
      CAPTURE(reasons_of(plan.error()));
      REQUIRE(all.empty());
      const bool is_never = plan.error().kind == Refusal::Kind::never;
      REQUIRE(is_never == idle.empty());
      if (!is_never) CHECK_FALSE(plan.error().holders.empty());
      ++(is_never ? answers.never : answers.busy);
      continue;
    }
    ++answers.placed;
    const std::vector<int> counts = counts_of(*plan, each.inventory);
    CAPTURE(counts);
    REQUIRE(std::find(all.begin(), all.end(), counts) != all.end());
    check_slots(each, *plan);
    check_ranks(each, *plan);
    check_preference(each, counts, all);
  }
  return answers;
}

}  // namespace

TEST_CASE("a placement is found exactly when there is one, and it keeps what it promises") {
  CaseMaker maker(20'251);
  const Answers answers = compare(maker, 12'000 / slowdown, check_devices);
  // The random cases must reach all three answers often.
  CHECK(answers.placed > 1'000 / slowdown);
  CHECK(answers.busy > 100 / slowdown);
  CHECK(answers.never > 1'000 / slowdown);
}

TEST_CASE("on hosts of any kind a placement is found exactly when there is one") {
  CaseMaker maker(31'337, true);
  const Answers answers = compare(maker, 2'500 / slowdown, [](const Case&, const Plan&) {});
  CHECK(answers.placed > 500 / slowdown);
  CHECK(answers.busy > 5 / slowdown);
  CHECK(answers.never > 500 / slowdown);
}

TEST_CASE("the nearest counts that a refusal names are truly the nearest") {
  CaseMaker maker(77);
  int refused = 0;
  for (int i = 0; i < 2'000 / slowdown; ++i) {
    Case each = maker.make();
    each.experiment.global_batch_size.reset();
    if (each.experiment.label_selectors.size() > 1) each.experiment.label_selectors.clear();
    each.experiment.counts_slots = i % 2 == 0;
    const auto plan = make_plan(each.experiment, each.inventory);
    if (plan) continue;
    ++refused;
    const auto fits = [&](int workers) {
      ExperimentConfig other = each.experiment;
      other.workers = workers;
      return !brute_force::placements(other, each.inventory, {}).empty();
    };
    const auto is_whole = [&](int workers) {
      return !each.experiment.counts_slots || (each.experiment.needs.slots * workers).is_whole();
    };
    const auto slots_of = [&](int workers) {
      return each.experiment.counts_slots
                 ? static_cast<int>((each.experiment.needs.slots * workers).whole())
                 : workers;
    };
    std::vector<int> nearest;
    int below = each.experiment.workers - 1;
    while (below > 0 && !(is_whole(below) && fits(below))) --below;
    if (below > 0) nearest.push_back(slots_of(below));
    constexpr int most = 12;  // trying everything takes its time
    int above = each.experiment.workers + 1;
    while (above <= most && !(is_whole(above) && fits(above))) ++above;
    if (above <= most) nearest.push_back(slots_of(above));
    CAPTURE(i, to_string(each.experiment.placement), each.experiment.workers,
            to_string(each.experiment.needs.slots), reasons_of(plan.error()));
    std::vector<int> named = plan.error().nearest;
    const int bound = slots_of(most);
    while (!named.empty() && named.back() > bound && above > most) named.pop_back();
    REQUIRE(named == nearest);
  }
  CHECK(refused > 300 / slowdown);
}

TEST_CASE("a change that a refusal names makes the experiment fit") {
  // Each change is written into the experiment by hand here, and planned.
  CaseMaker maker(4'711);
  std::set<std::string> seen;
  for (int i = 0; i < 3'000 / slowdown; ++i) {
    const Case each = maker.make();
    const auto plan = make_plan(each.experiment, each.inventory);
    if (plan) continue;
    for (const Change& change : plan.error().changes) {
      ExperimentConfig changed = each.experiment;
      const std::string& reason = change.options;
      if (reason == "--set resources.allow_heterogeneous=true") {
        changed.allow_heterogeneous = true;
      } else if (reason == "--set resources.placement=pack") {
        changed.placement = PlacementPolicy::pack;
      } else if (reason == "--set resources.placement=spread") {
        changed.placement = PlacementPolicy::spread;
      } else if (reason == "--set resources.is_single_node=false") {
        changed.is_single_node = false;
      } else if (reason == "--set 'scaling_config.trainer_resources={CPU: 0}'") {
        changed.trainer = {};
      } else if (reason == "--set scaling_config.label_selector=null") {
        changed.label_selectors.clear();
      } else if (reason == "--set scaling_config.accelerator_type=H100") {
        changed.needs.accelerator_type = "H100";
      } else if (reason == "--set resources.resource_pool=west") {
        changed.resource_pool = "west";
      } else {
        continue;
      }
      CAPTURE(i, reason);
      seen.insert(reason);
      CHECK_FALSE(brute_force::placements(changed, each.inventory, {}).empty());
    }
  }
  if (slowdown == 1) CHECK(seen.size() == 8);
}

TEST_CASE("all slots are the most workers that trying everything places") {
  CaseMaker maker(2'718, true);
  int compared = 0;
  for (int i = 0; i < 600 / slowdown; ++i) {
    Case each = maker.make();
    // Determined's rule may leave slots; what is left of these words is never without a file.
    if (each.experiment.placement == PlacementPolicy::automatic) continue;
    each.experiment.label_selectors.clear();
    each.experiment.trainer = {};
    each.experiment.global_batch_size.reset();
    const int all = workers_on_all_slots(each.experiment, each.inventory);
    constexpr int most = 12;  // trying everything takes its time
    if (all > most || each.experiment.needs.slots.is_zero()) continue;
    ++compared;
    int found = 0;
    for (each.experiment.workers = 1; each.experiment.workers <= all + 1; ++each.experiment.workers)
      if (!brute_force::placements(each.experiment, each.inventory, {}).empty())
        found = each.experiment.workers;
    CAPTURE(i, to_string(each.experiment.placement), to_string(each.experiment.needs.slots));
    CHECK(all == std::max(found, 1));
  }
  CHECK(compared > 100 / slowdown);
}

TEST_CASE("workers that take nothing that is counted are one on all slots") {
  const auto all_of = [](ExperimentConfig experiment, const HostInventory& inventory) {
    experiment.placement = PlacementPolicy::in_order;
    return workers_on_all_slots(experiment, inventory);
  };
  CHECK(all_of(cpu_experiment(1, 0), gpu_inventory({2, 2})) == 1);
  CHECK(all_of(slot_experiment(1), gpu_inventory({2, 1})) == 3);
  CHECK(all_of(slot_experiment(1), inventory_of({plain_host("n1")})) == 1);
  CHECK(all_of(gpu_experiment(1, 2), gpu_inventory({3, 3})) == 2);
  CHECK(all_of(gpu_experiment(1, 8), gpu_inventory({3, 3})) == 1);
}

TEST_CASE("as many trials fit at once as trying everything finds") {
  std::mt19937 random(9);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 400 / slowdown; ++i) {
    std::vector<int> sizes;
    const int hosts = number(1, 4);
    for (int h = 0; h < hosts; ++h) sizes.push_back(number(1, 4));
    const HostInventory inventory = gpu_inventory(sizes);
    ExperimentConfig experiment = gpu_experiment(number(1, 5), 1);
    experiment.search = {.trials = 100};
    experiment.placement =
        std::vector{PlacementPolicy::automatic,   PlacementPolicy::in_order,
                    PlacementPolicy::pack,        PlacementPolicy::spread,
                    PlacementPolicy::strict_pack, PlacementPolicy::strict_spread}[number(0, 5)];
    const auto plan = make_plan(experiment, inventory);
    if (!plan) continue;
    REQUIRE(plan->trials);
    // Depth first over all placements of each trial after the other.
    const std::function<int(const Occupancy&)> best = [&](const Occupancy& occupancy) {
      int most = 0;
      for (const auto& counts : brute_force::placements(experiment, inventory, occupancy)) {
        Occupancy next = occupancy;
        for (std::size_t h = 0; h < counts.size(); ++h) {
          if (counts[h] == 0) continue;
          HostUse use{.host = inventory.hosts[h].name, .holder = "one", .slots = {}};
          std::set<int> held;
          for (const HostUse& other : occupancy)
            if (other.host == use.host)
              for (const auto& [slot, share] : other.slots) held.insert(slot);
          int left = counts[h];
          for (int slot = 0; left > 0; ++slot)
            if (held.count(slot) == 0) use.slots[slot] = Quantity::of(1), --left;
          next.push_back(std::move(use));
        }
        most = std::max(most, 1 + best(next));
      }
      return most;
    };
    CAPTURE(sizes, experiment.workers, to_string(experiment.placement));
    if (std::accumulate(sizes.begin(), sizes.end(), 0) / experiment.workers > 4) continue;
    CHECK_FALSE(plan->trials->is_at_least);
    CHECK(plan->trials->fit == best({}));
  }
}
