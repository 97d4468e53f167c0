// SPDX-License-Identifier: Apache-2.0
// What a slot is on each kind of host, and what workers take of a host.
#include "launcher/capacity/capacity.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

using Slots = std::vector<std::vector<int>>;
using Used = std::vector<std::pair<std::string, int>>;

bool mentions(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines)
    if (line.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("fractions go to the slot with the least room left, lowest index first") {
  struct Case {
    std::vector<double> asked;
    std::vector<int> expected;
  };
  const std::vector<Case> cases{{{0.5, 0.5, 0.5, 0.5}, {0, 0, 1, 1}},
                                {{0.3, 0.3, 0.3, 0.3}, {0, 0, 0, 1}},
                                {{0.6, 0.4, 0.6, 0.4}, {0, 0, 1, 1}},
                                {{0.6, 0.6, 0.4, 0.4}, {0, 1, 0, 1}}};
  for (const Case& each : cases) {
    CAPTURE(each.asked);
    SlotRoom room(2);
    for (std::size_t i = 0; i < each.asked.size(); ++i)
      CHECK(room.take(amount(each.asked[i])) == std::vector<int>{each.expected[i]});
  }
}

TEST_CASE("a slot is never over-subscribed") {
  SlotRoom room(2);
  CHECK(room.take(amount(0.3)) == std::vector<int>{0});
  CHECK(room.take(Quantity::of(2)).empty());
  CHECK(room.take(Quantity::of(1)) == std::vector<int>{1});
  CHECK(room.take(amount(0.8)).empty());
  CHECK(room.take(amount(1.5)).empty());
  CHECK(room.take(amount(0.7)) == std::vector<int>{0});
  CHECK(room.take(amount(0.0001)).empty());
}

TEST_CASE("workers share GPUs in fractions") {
  const auto halves = make_plan(gpu_experiment(4, 0.5), gpu_inventory({2}));
  REQUIRE(halves);
  CHECK(rank_slots(*halves) == Slots{{0}, {0}, {1}, {1}});
  CHECK(halves->trial.slots == Quantity::of(2));
  const auto thirds = make_plan(gpu_experiment(4, 0.3), gpu_inventory({2}));
  REQUIRE(thirds);
  CHECK(rank_slots(*thirds) == Slots{{0}, {0}, {0}, {1}});
  const auto too_many = make_plan(gpu_experiment(7, 0.3), gpu_inventory({2}));
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().reasons.front() ==
        "7 workers of 0.3 GPUs each asked, n1 has room for 6 (2 GPUs)");
}

TEST_CASE("two ranks on one GPU cannot use nccl") {
  ExperimentConfig experiment = gpu_experiment(2, 0.5);
  experiment.backend = CollectiveBackend::nccl;
  const auto plan = make_plan(experiment, gpu_inventory({2}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front().find("nccl needs a GPU for every rank") != std::string::npos);
}

TEST_CASE("workers with several GPUs get whole ones of one host") {
  const auto plan = make_plan(gpu_experiment(3, 2), gpu_inventory({6}));
  REQUIRE(plan);
  CHECK(rank_slots(*plan) == Slots{{0, 1}, {2, 3}, {4, 5}});
  ExperimentConfig packed = gpu_experiment(3, 2);
  packed.placement = PlacementPolicy::pack;
  const auto split = make_plan(packed, gpu_inventory({3, 3}));
  REQUIRE_FALSE(split);
  CHECK(
      split.error().reasons.front() ==
      "3 workers of 2 GPUs each asked, the 2 hosts have room for 2: n1 1 (3 GPUs), n2 1 (3 GPUs)");
  CHECK(split.error().nearest == std::vector<int>{4});
  CHECK_FALSE(make_plan(gpu_experiment(6, 2), gpu_inventory({7, 7, 1})));  // none is used wholly
}

TEST_CASE("declared slots limit the accelerators of a host") {
  Host host = gpu_host("n1", 8);
  host.slots = 2;
  CHECK(make_plan(slot_experiment(2), inventory_of({host})));
  const auto plan = make_plan(slot_experiment(3), inventory_of({host}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() == "3 slots asked, n1 has 2");
}

TEST_CASE("declared slots without a word of accelerators are places or GPUs") {
  const HostInventory hosts = inventory_of({place_host("n1", 4)});
  const auto places = make_plan(slot_experiment(4), hosts);
  REQUIRE(places);
  CHECK_FALSE(places->trial.hosts[0].slots_are_gpus);
  CHECK(places->trial.hosts[0].devices_at_launch);
  CHECK(places->warnings.empty());
  const auto gpus = make_plan(gpu_experiment(2, 2), hosts);
  REQUIRE(gpus);
  CHECK(gpus->trial.hosts[0].slots_are_gpus);
  CHECK(warnings_of(*gpus) ==
        std::vector<std::string>{"n1 says slots and nothing of GPUs: a launch "
                                 "asks whether there are as many"});
  CHECK(make_plan(cpu_experiment(4, 0.25), hosts));
  CHECK_FALSE(make_plan(cpu_experiment(5, 0.25), hosts));  // one place each
}

TEST_CASE("GPUs by name are not found on hosts that have none") {
  Host none = place_host("n1", 4);
  none.accelerators = 0;
  const auto plan = make_plan(gpu_experiment(1, 1), inventory_of({none, cpu_host("n2", 8)}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons ==
        std::vector<std::string>{"1 GPU asked, the 2 hosts have none: n1 0, n2 0"});
  CHECK(plan.error().nearest.empty());
  const auto place = make_plan(slot_experiment(4), inventory_of({none}));
  REQUIRE(place);
  CHECK_FALSE(place->trial.hosts[0].slots_are_gpus);
}

TEST_CASE("a host with nothing but CPUs has them as slots") {
  const HostInventory hosts = inventory_of({cpu_host("localhost", 2)});
  const auto one_each = make_plan(slot_experiment(2), hosts);
  REQUIRE(one_each);
  CHECK(rank_slots(*one_each) == Slots{{0}, {1}});
  const auto quarters = make_plan(cpu_experiment(8, 0.25), hosts);
  REQUIRE(quarters);
  CHECK(rank_slots(*quarters) == Slots{{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}});
  const auto too_many = make_plan(slot_experiment(4), hosts);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().reasons.front() == "4 slots asked, localhost has 2");
  CHECK(mentions(too_many.error().reasons, "-H localhost:4"));
  CHECK(too_many.error().nearest == std::vector<int>{2});
  const auto wide = make_plan(cpu_experiment(1, 1.5), hosts);
  REQUIRE(wide);
  CHECK(rank_slots(*wide) == Slots{{0, 1}});
}

TEST_CASE("a plain host counts as one slot, and says so") {
  std::vector<Host> hosts;
  for (int i = 1; i <= 16; ++i) hosts.push_back(plain_host("n" + std::to_string(i)));
  const auto plan = make_plan(slot_experiment(16), inventory_of(hosts));
  REQUIRE(plan);
  CHECK(warnings_of(*plan) ==
        std::vector<std::string>{"n[1-16] say nothing of slots and count each as one: write 'n1 "
                                 "slots=N', or -H n1:N"});
  const auto refused = make_plan(slot_experiment(17), inventory_of(hosts));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reasons.front() == "17 slots asked, the 16 hosts have 16: n[1-16] 1 each");
  CHECK(mentions(refused.error().reasons, "write 'n1 slots=N'"));
}

TEST_CASE("a CPU-only worker beside GPUs takes CPUs and no slot") {
  Host host = gpu_host("n1", 2);
  host.cpus = Quantity::of(8);
  const auto plan = make_plan(cpu_experiment(4, 2), inventory_of({host}));
  REQUIRE(plan);
  CHECK(rank_slots(*plan) == Slots{{}, {}, {}, {}});
  const auto refused = make_plan(cpu_experiment(5, 2), inventory_of({host}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reasons.front() ==
        "5 workers of 2 CPUs each asked, n1 has room for 4 (8 CPUs)");
  CHECK(refused.error().nearest == std::vector<int>{4});
  const auto unknown = make_plan(cpu_experiment(5, 2), gpu_inventory({2}));
  REQUIRE(unknown);
  CHECK(mentions(warnings_of(*unknown), "n1 does not say how many CPUs there are"));
}

TEST_CASE("CPUs, memory and custom resources limit a host") {
  Host host = gpu_host("n1", 8);
  host.cpus = Quantity::of(8);
  host.memory = std::uint64_t{64} << 30;
  host.custom["license"] = Quantity::of(3);
  const HostInventory hosts = inventory_of({host});
  ExperimentConfig experiment = gpu_experiment(4, 1);
  experiment.needs.cpus = Quantity::of(2);
  experiment.needs.memory = std::uint64_t{16} << 30;
  CHECK(make_plan(experiment, hosts));

  ExperimentConfig cpus = experiment;
  cpus.needs.cpus = amount(2.5);
  REQUIRE_FALSE(make_plan(cpus, hosts));
  CHECK(make_plan(cpus, hosts).error().reasons.front() ==
        "4 workers of 2.5 CPUs each asked, n1 has room for 3 (8 CPUs)");
  ExperimentConfig memory = experiment;
  memory.needs.memory = std::uint64_t{17} << 30;
  REQUIRE_FALSE(make_plan(memory, hosts));
  CHECK(make_plan(memory, hosts).error().reasons.front() ==
        "4 workers of 17 GiB each asked, n1 has room for 3 (64 GiB)");
  ExperimentConfig custom = experiment;
  custom.needs.custom["license"] = Quantity::of(1);
  REQUIRE_FALSE(make_plan(custom, hosts));
  CHECK(make_plan(custom, hosts).error().reasons.front() ==
        "4 workers of 1 license each asked, n1 has room for 3 (3 license)");
  custom.needs.custom["license"] = amount(0.75);
  CHECK(make_plan(custom, hosts));
}

TEST_CASE("what a host does not declare is relied on, except custom resources") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.needs.memory = 1000;
  const auto plan = make_plan(experiment, gpu_inventory({1}));
  REQUIRE(plan);
  CHECK(mentions(warnings_of(*plan), "n1 does not say how much memory there is"));
  experiment.needs.custom["license"] = Quantity::of(1);
  REQUIRE_FALSE(make_plan(experiment, gpu_inventory({1})));
}

TEST_CASE("a type of accelerator is matched exactly") {
  Host b200 = gpu_host("n1", 4);
  b200.accelerator_type = "B200";
  Host gb200 = gpu_host("n2", 4);
  gb200.accelerator_type = "GB200";
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.accelerator_type = "GB200";
  const auto plan = make_plan(experiment, inventory_of({b200, gb200, gpu_host("n3", 2)}));
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n2", 2}});
  experiment.needs.accelerator_type = "A100";
  const auto refused = make_plan(experiment, inventory_of({b200, gb200, gpu_host("n3", 2)}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reasons.front() ==
        "no host has accelerator_type 'A100' (matched exactly): n1 B200, n2 GB200, n3 (not said)");
}

TEST_CASE("memory sizes of a type are types of their own, and may be labels") {
  Host small = gpu_host("n1", 4);
  small.accelerator_type = "A100-40G";
  Host large = gpu_host("n2", 4);
  large.accelerator_type = "A100-80G";
  Host labelled = gpu_host("n3", 4);
  labelled.accelerator_type = "A100";
  labelled.labels["gpu"] = "A100-80G";
  const HostInventory hosts = inventory_of({small, large, labelled});
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.accelerator_type = "A100-80G";
  auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n2", 2}});
  experiment.needs.accelerator_type = "A100";
  experiment.label_selectors = {{{"gpu", LabelCondition::Kind::one_of, {"A100-80G"}}}};
  plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n3", 2}});
}

TEST_CASE("a pool picks hosts when some host names one") {
  Host fast = gpu_host("n1", 2);
  fast.pool = "fast";
  ExperimentConfig experiment = slot_experiment(2);
  experiment.resource_pool = "slow";
  const auto ignored = make_plan(experiment, gpu_inventory({2}));
  REQUIRE(ignored);
  CHECK(ignored->warnings.front().message ==
        "resource_pool 'slow' is ignored: no host names a pool");
  const auto refused = make_plan(experiment, inventory_of({fast, gpu_host("n2", 2)}));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reasons.front() == "no host is in pool 'slow': n1 fast, n2 (no pool)");
  experiment.resource_pool = "fast";
  const auto plan = make_plan(experiment, inventory_of({gpu_host("n2", 2), fast}));
  REQUIRE(plan);
  CHECK(used_hosts(*plan) == Used{{"n1", 2}});
}

TEST_CASE("only the slots that a filter left are used, under their own numbers") {
  Host gpus = gpu_host("n1", 4);
  gpus.slot_indices = {1, 3};
  Host places = place_host("n2", 8);
  places.slot_indices = {0, 7};
  const auto plan = make_plan(gpu_experiment(4, 1), inventory_of({gpus, places}));
  REQUIRE(plan);
  CHECK(rank_slots(*plan) == Slots{{1}, {3}, {0}, {7}});
  CHECK(plan->trial.hosts[0].slots == std::vector<int>{1, 3});
  const auto halves = make_plan(gpu_experiment(4, 0.5), inventory_of({gpus}));
  REQUIRE(halves);
  CHECK(rank_slots(*halves) == Slots{{1}, {1}, {3}, {3}});
  const auto too_many = make_plan(gpu_experiment(3, 1), inventory_of({gpus}));
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().reasons.front().find("n1 has 2") != std::string::npos);
}

TEST_CASE("the devices of a filtered host are those behind its slots") {
  Host host = gpu_host("n1", 3);
  host.device_indices = {4, 6, 7};
  host.slot_indices = {0, 2};
  const auto plan = make_plan(gpu_experiment(2, 1), inventory_of({host}));
  REQUIRE(plan);
  CHECK(devices_of(plan->trial.hosts[0].host, plan->trial.hosts[0].slots) ==
        std::vector<int>{4, 7});
}

TEST_CASE("of a filtered host whose slots are CPUs, the CPUs that are left count") {
  Host host = cpu_host("n1", 8);
  host.slot_indices = {2, 3, 5};
  const auto plan = make_plan(slot_experiment(3), inventory_of({host}));
  REQUIRE(plan);
  CHECK(rank_slots(*plan) == Slots{{2}, {3}, {5}});
  CHECK_FALSE(make_plan(slot_experiment(4), inventory_of({host})));
}
