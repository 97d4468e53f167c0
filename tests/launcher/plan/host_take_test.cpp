// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/host_take.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

HostTake taken(const ExperimentConfig& experiment, const HostInventory& inventory, int host = 0) {
  const auto plan = make_plan(experiment, inventory);
  REQUIRE(plan);
  return take_of(plan->experiment, plan->trial, host);
}

}  // namespace

TEST_CASE("a trial takes the slots of its workers, or its part of one") {
  const Quantity all = Quantity::of(1);
  CHECK(taken(gpu_experiment(1, 1), gpu_inventory({2})).slots == std::map<int, Quantity>{{0, all}});
  CHECK(taken(gpu_experiment(4, 1), gpu_inventory({2, 2}), 1).slots ==
        std::map<int, Quantity>{{0, all}, {1, all}});
  CHECK(taken(gpu_experiment(3, 0.5), gpu_inventory({2})).slots ==
        std::map<int, Quantity>{{0, all}, {1, amount(0.5)}});
  ExperimentConfig per_host = gpu_experiment(1, 0.5);
  per_host.processes = Processes::per_host;
  CHECK(taken(per_host, gpu_inventory({2})).slots == std::map<int, Quantity>{{0, all}});
}

TEST_CASE("the trainer takes of the first host, and only there") {
  ExperimentConfig experiment = gpu_experiment(4, 1);
  experiment.needs.cpus = Quantity::of(2);
  experiment.needs.memory = 10;
  experiment.needs.custom = {{"tape", Quantity::of(1)}};
  experiment.trainer.cpus = Quantity::of(3);
  experiment.trainer.memory = 7;
  experiment.trainer.custom = {{"tape", Quantity::of(1)}, {"disk", Quantity::of(2)}};
  HostInventory inventory = gpu_inventory({2, 2});
  for (Host& host : inventory.hosts) {
    host.cpus = Quantity::of(32);
    host.memory = 1000;
    host.custom = {{"tape", Quantity::of(9)}, {"disk", Quantity::of(9)}};
  }
  const HostTake first = taken(experiment, inventory, 0);
  CHECK(first.cpus == Quantity::of(7));
  CHECK(first.memory == 27);
  CHECK(first.custom ==
        std::map<std::string, Quantity>{{"tape", Quantity::of(3)}, {"disk", Quantity::of(2)}});
  const HostTake second = taken(experiment, inventory, 1);
  CHECK(second.cpus == Quantity::of(4));
  CHECK(second.memory == 20);
  CHECK(second.custom == std::map<std::string, Quantity>{{"tape", Quantity::of(2)}});
}
