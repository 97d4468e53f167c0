// SPDX-License-Identifier: Apache-2.0
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

TEST_CASE("a plan that could be no better has no advice") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.global_batch_size = 256;
  const auto plan = make_plan(experiment, gpu_inventory({4}));
  REQUIRE(plan);
  CHECK(plan->advice.empty());
  CHECK(plan->warnings.empty());
}

TEST_CASE("a batch that did not grow with the slots is advised against") {
  ExperimentConfig experiment = slot_experiment(16);
  experiment.global_batch_size = 32;
  const auto plan = make_plan(experiment, gpu_inventory({16}));
  REQUIRE(plan);
  CHECK(plan->advice ==
        std::vector<std::string>{"weak scaling: 2 samples of the batch of 32 per slot is little; "
                                 "grow global_batch_size with the slots"});
}

TEST_CASE("several CPU-only workers on a host are advised against") {
  const auto plan = make_plan(cpu_experiment(2, 1), inventory_of({cpu_host("n1", 2)}));
  REQUIRE(plan);
  REQUIRE(plan->advice.size() == 1);
  CHECK(plan->advice[0].find("n1 has more than one CPU-only worker") == 0);
}

TEST_CASE("CPUs left unused beside GPUs are named") {
  Host host = gpu_host("n1", 2);
  host.cpus = Quantity::of(16);
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.cpus = Quantity::of(1);
  const auto plan = make_plan(experiment, inventory_of({host}));
  REQUIRE(plan);
  CHECK(plan->advice ==
        std::vector<std::string>{
            "CPUs beside the GPUs of n1 stay unused: a worker takes 1, its "
            "share is 8 (--set 'resources.resources_per_worker={CPU: 8, GPU: 1}')"});
  experiment.needs.cpus = Quantity::of(8);
  CHECK(make_plan(experiment, inventory_of({host}))->advice.empty());
}

TEST_CASE("slots of which nobody said whether they are GPUs are told as known at launch") {
  const auto advice_on = [](Host host) {
    const auto plan = make_plan(slot_experiment(2), inventory_of({std::move(host)}));
    REQUIRE(plan);
    return plan->advice;
  };
  const auto asked = advice_on(place_host("n1", 2));
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].starts_with("n1 says slots and nothing of GPUs: a launch asks"));
  Host without = place_host("localhost", 2);
  without.accelerators = 0;
  CHECK(advice_on(without).empty());
  CHECK(advice_on(gpu_host("n1", 2)).empty());
}

TEST_CASE("more hosts than needed are counted") {
  ExperimentConfig experiment = gpu_experiment(4, 1);
  experiment.placement = PlacementPolicy::spread;
  const auto plan = make_plan(experiment, gpu_inventory({4, 4}));
  REQUIRE(plan);
  CHECK(plan->advice ==
        std::vector<std::string>{"2 hosts are used where 1 would do (placement: pack)"});
}

TEST_CASE("more hosts than needed in order: which is filled before which") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.placement = PlacementPolicy::in_order;
  const auto plan = make_plan(experiment, gpu_inventory({2, 4}));
  REQUIRE(plan);
  CHECK(plan->advice == std::vector<std::string>{"in order, n1 is filled before n2: 2 hosts are "
                                                 "used where 1 would do (placement: pack)"});
  const auto needed = make_plan(slot_experiment(4), gpu_inventory({2, 2}));
  REQUIRE(needed);
  CHECK(needed->advice.empty());
}

TEST_CASE("CPUs are only advised that every host could give") {
  const auto with_cpus = [](const char* name, int cpus) {
    Host host = gpu_host(name, 4);
    host.cpus = Quantity::of(cpus);
    return host;
  };
  const auto uneven =
      make_plan(slot_experiment(8), inventory_of({with_cpus("n1", 64), with_cpus("n2", 4)}));
  REQUIRE(uneven);
  for (const std::string& line : uneven->advice) CHECK(line.find("CPU: 16") == std::string::npos);
  const auto even =
      make_plan(slot_experiment(8), inventory_of({with_cpus("n1", 64), with_cpus("n2", 64)}));
  REQUIRE(even);
  CHECK(even->advice.back().find("CPU: 16") != std::string::npos);
}

TEST_CASE("fewer hosts are not advised where labels or slices decide") {
  std::vector<Host> hosts = gpu_inventory({8, 8, 4, 4}).hosts;
  hosts[0].labels["zone"] = hosts[1].labels["zone"] = "a";
  hosts[2].labels["zone"] = hosts[3].labels["zone"] = "b";
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.placement = PlacementPolicy::spread;
  experiment.label_selectors = {{{"zone", LabelCondition::Kind::one_of, {"a"}}},
                                {{"zone", LabelCondition::Kind::one_of, {"b"}}}};
  const auto plan = make_plan(experiment, inventory_of(hosts));
  REQUIRE(plan);
  for (const std::string& line : plan->advice) CHECK(line.find("would do") == std::string::npos);
}
