// SPDX-License-Identifier: Apache-2.0
#include "launcher/lease/trial_leases.hpp"

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

using Wants = std::vector<std::string>;

/// "cuda-0 10000/10000" for each.
Wants wants_of(const ExperimentConfig& experiment, const HostInventory& inventory, int host = 0) {
  const auto plan = make_plan(experiment, inventory);
  REQUIRE(plan);
  Wants wants;
  for (const LeaseWant& want : leases_of(plan->experiment, plan->trial, host))
    wants.push_back(lease_file_name(want.key) + " " + std::to_string(want.amount) + "/" +
                    std::to_string(want.capacity));
  return wants;
}

}  // namespace

TEST_CASE("a trial holds the GPUs and places of its workers on each host") {
  for (const int host : {0, 1})
    CHECK(wants_of(gpu_experiment(4, 1), gpu_inventory({2, 2}), host) ==
          Wants{"cuda-0 10000/10000", "cuda-1 10000/10000"});
  CHECK(wants_of(slot_experiment(2), inventory_of({place_host("a", 4)})) ==
        Wants{"slot-0 10000/10000", "slot-1 10000/10000"});
}

TEST_CASE("a place for workers that see no GPU is no GPU's") {
  Host host = place_host("a", 4);
  host.slot_type = SlotType::cpu;
  settle_accelerators(host);
  CHECK(wants_of(slot_experiment(1), inventory_of({host})) == Wants{"place-0 10000/10000"});
}

TEST_CASE("the devices that a session leaves are held by their own numbers") {
  Host host = gpu_host("a", 2);
  host.device_indices = {6, 7};
  CHECK(wants_of(gpu_experiment(2, 1), inventory_of({host})) ==
        Wants{"cuda-6 10000/10000", "cuda-7 10000/10000"});
  host.accelerator_type = "AMD-Instinct-MI300X-OAM";
  CHECK(wants_of(gpu_experiment(1, 1), inventory_of({host})) == Wants{"rocm-6 10000/10000"});
}

TEST_CASE("workers that share a GPU hold their parts of it") {
  CHECK(wants_of(gpu_experiment(3, 0.3), gpu_inventory({2})) == Wants{"cuda-0 9000/10000"});
  ExperimentConfig experiment = gpu_experiment(2, 0.5);
  experiment.processes = Processes::per_host;
  CHECK(wants_of(experiment, gpu_inventory({2})) == Wants{"cuda-0 10000/10000"});
}

TEST_CASE("slots that are CPUs are held as a number of them") {
  CHECK(wants_of(slot_experiment(3), inventory_of({cpu_host("a", 8)})) ==
        Wants{"cpus 30000/80000"});
}

TEST_CASE("CPUs, memory and other resources are held where the host declares them") {
  ExperimentConfig experiment = gpu_experiment(2, 1);
  experiment.needs.cpus = amount(1.5);
  experiment.needs.memory = 1'000;
  experiment.needs.custom["ssd"] = amount(0.5);
  Host host = gpu_host("a", 2);
  host.custom["ssd"] = Quantity::of(2);
  host.custom["tape"] = Quantity::of(1);
  CHECK(wants_of(experiment, inventory_of({host})) ==
        Wants{"cuda-0 10000/10000", "cuda-1 10000/10000", "custom-ssd 10000/20000"});
  host.cpus = Quantity::of(16);
  host.memory = 5'000;
  CHECK(wants_of(experiment, inventory_of({host})) ==
        Wants{"cuda-0 10000/10000", "cuda-1 10000/10000", "cpus 30000/160000", "memory 2000/5000",
              "custom-ssd 10000/20000"});
}

TEST_CASE("what the trainer takes is held on the first host alone") {
  ExperimentConfig experiment = gpu_experiment(3, 1);
  experiment.trainer.gpus = Quantity::of(1);
  experiment.trainer.cpus = Quantity::of(2);
  Host host = gpu_host("a", 2);
  host.cpus = Quantity::of(8);
  Host other = host;
  other.name = other.address = "b";
  const auto inventory = inventory_of({host, other});
  const auto plan = make_plan(experiment, inventory);
  REQUIRE(plan);
  CHECK(wants_of(experiment, inventory, 0) ==
        Wants{"cuda-0 10000/10000", "cuda-1 10000/10000", "cpus 20000/80000"});
  CHECK(wants_of(experiment, inventory, 1) == Wants{"cuda-0 10000/10000", "cuda-1 10000/10000"});
}
