// SPDX-License-Identifier: Apache-2.0
// A refusal says what was asked, what the hosts have, and what would fit.
#include "launcher/placement/refusal.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

std::vector<std::string> options_of(const Refusal& refusal) {
  std::vector<std::string> options;
  for (const Change& change : refusal.changes) options.push_back(change.options);
  return options;
}

}  // namespace

TEST_CASE("more slots than the hosts have is refused with the numbers") {
  const auto plan = make_plan(slot_experiment(12),
                              inventory_of({place_host("node01", 4), place_host("node02", 4)}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == Refusal::Kind::never);
  CHECK(plan.error().reasons ==
        std::vector<std::string>{"12 slots asked, the 2 hosts have 8: node01 4, node02 4"});
  CHECK(plan.error().nearest == std::vector<int>{8});
  const Error error = to_error(plan.error());
  CHECK(error.error_class == ErrorClass::never);
  CHECK(render(error) ==
        "12 slots asked, the 2 hosts have 8: node01 4, node02 4\n  nearest count that fits: 8");
}

TEST_CASE("hosts that cannot be used wholly are counted, and what would fit is named") {
  const auto plan = make_plan(slot_experiment(12), gpu_inventory({8, 8}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons ==
        std::vector<std::string>{"12 slots asked: the largest host has room for 8, and whole hosts "
                                 "of one size do not make 12 (2 hosts of 8: 12 is no multiple)"});
  CHECK(options_of(plan.error()) == std::vector<std::string>{"--set resources.placement=pack"});
  CHECK(plan.error().nearest == std::vector<int>{8, 16});
  const auto mixed = make_plan(slot_experiment(4), gpu_inventory({2, 1, 1}));
  REQUIRE_FALSE(mixed);
  CHECK(options_of(mixed.error()) ==
        std::vector<std::string>{"--set resources.allow_heterogeneous=true",
                                 "--set resources.placement=pack"});
}

TEST_CASE("every count that a refusal names can be planned, and no nearer one") {
  const std::vector<std::vector<int>> clusters{{8, 8}, {7, 5, 3}, {4, 4, 4, 2, 2}, {1, 9}, {6}};
  for (const auto& sizes : clusters) {
    for (int slots = 1; slots <= 24; ++slots) {
      CAPTURE(sizes, slots);
      const auto plan = make_plan(slot_experiment(slots), gpu_inventory(sizes));
      if (plan) continue;
      const auto fits = [&](int count) {
        return make_plan(slot_experiment(count), gpu_inventory(sizes)).has_value();
      };
      int below = slots - 1;
      while (below > 0 && !fits(below)) --below;
      int above = slots + 1;
      while (above <= 30 && !fits(above)) ++above;
      std::vector<int> nearest;
      if (below > 0) nearest.push_back(below);
      if (above <= 30) nearest.push_back(above);
      CHECK(plan.error().nearest == nearest);
    }
  }
}

TEST_CASE("strict spreading says how many hosts can take a worker") {
  ExperimentConfig experiment = gpu_experiment(3, 2);
  experiment.placement = PlacementPolicy::strict_spread;
  const auto plan = make_plan(experiment, gpu_inventory({4, 1, 2}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() ==
        "3 workers asked, one on each host (placement: strict_spread), 2 of 3 hosts can take one "
        "of 2 GPUs: n[1,3]");
  CHECK(plan.error().nearest == std::vector<int>{4});
}

TEST_CASE("a refusal on many hosts stays short") {
  std::vector<int> sizes(9'990, 8);
  sizes.insert(sizes.end(), 10, 4);
  ExperimentConfig experiment = slot_experiment(100'000);
  experiment.written.keys["resources.slots_per_trial"] = {{"-n", true}};
  const auto plan = make_plan(experiment, gpu_inventory(sizes));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons ==
        std::vector<std::string>{"100000 slots asked, the 10000 hosts have 79960: n[1-9990] 8 "
                                 "each, n[9991-10000] 4 each"});
  CHECK(plan.error().changes ==
        std::vector<Change>{{"--set 'resources.resources_per_worker={GPU: 0.5}' -n 50000",
                             "the 100000 ranks then share GPUs"}});
  CHECK(plan.error().nearest == std::vector<int>{79'920});
}

TEST_CASE("a batch that the workers cannot share is refused") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.global_batch_size = 2;
  const auto small = make_plan(experiment, gpu_inventory({8}));
  REQUIRE_FALSE(small);
  CHECK(small.error().reasons.front() ==
        "global_batch_size 2 is less than the 4 workers: each needs a sample");
  CHECK(small.error().nearest == std::vector<int>{2});
  experiment.global_batch_size = 10;
  experiment.batch_remainder = BatchRemainder::error;
  const auto uneven = make_plan(experiment, gpu_inventory({8}));
  REQUIRE_FALSE(uneven);
  CHECK(uneven.error().reasons.front() ==
        "global_batch_size 10 over 4 workers leaves a remainder of 2, and batch_remainder is "
        "'error'");
  CHECK(uneven.error().nearest == std::vector<int>{2, 5});
}

TEST_CASE("no hosts at all is refused") {
  const auto plan = make_plan(slot_experiment(1), inventory_of({}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons == std::vector<std::string>{"there are no hosts in hosts"});
}

TEST_CASE("amounts beyond all hosts are refused, and soon") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.needs.slots = experiment.slots = Quantity::of(1'000'000'000);
  const auto gpus = make_plan(experiment, gpu_inventory({8, 8}));
  REQUIRE_FALSE(gpus);
  CHECK(gpus.error().changes.size() == 1);
  ExperimentConfig cpus = cpu_experiment(1'000'000, 1e12);
  cpus.trainer.cpus = Quantity::of(1'000'000'000'000);
  REQUIRE_FALSE(make_plan(cpus, inventory_of({cpu_host("n1", 8)})));
  cpus.placement = PlacementPolicy::strict_pack;
  Host host = gpu_host("n1", 8);
  host.cpus = Quantity::of(8);
  REQUIRE_FALSE(make_plan(cpus, inventory_of({host})));
}

TEST_CASE("a change of GPUs says the slots that go with it, and planning it works") {
  ExperimentConfig experiment = gpu_experiment(16, 1);
  experiment.written.keys["resources.slots_per_trial"] = {{"slots_per_trial", false}};
  const auto plan = make_plan(experiment, gpu_inventory({8}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().changes ==
        std::vector<Change>{{"--set 'resources.resources_per_worker={GPU: 0.5}' --set "
                             "slots_per_trial=8",
                             "the 16 ranks then share GPUs"}});
  CHECK(render(to_error(plan.error())).find("slots_per_trial=8 (the 16 ranks then share GPUs)") !=
        std::string::npos);
  CHECK(make_plan(gpu_experiment(16, 0.5), gpu_inventory({8})));
  experiment.counts_slots = false;
  const auto counted = make_plan(experiment, gpu_inventory({8}));
  REQUIRE_FALSE(counted);
  CHECK(options_of(counted.error()) ==
        std::vector<std::string>{"--set 'resources.resources_per_worker={GPU: 0.5}'"});
}

TEST_CASE("nearest counts are in the unit of the request, which is named where it matters") {
  ExperimentConfig workers = gpu_experiment(4, 0.6);
  workers.counts_slots = false;
  const auto few = make_plan(workers, gpu_inventory({2}));
  REQUIRE_FALSE(few);
  CHECK(few.error().nearest == std::vector<int>{2});
  CHECK(render(to_error(few.error())).find("nearest count that fits: 2 workers") !=
        std::string::npos);
  const auto slots = make_plan(gpu_experiment(4, 4), gpu_inventory({6, 6}));
  REQUIRE_FALSE(slots);
  CHECK(render(to_error(slots.error())).find("nearest count that fits: 4 slots") !=
        std::string::npos);
}

TEST_CASE("who holds what hosts declare is told with it, and not with what no host knows") {
  ExperimentConfig experiment = slot_experiment(1);
  experiment.needs.custom["licence"] = Quantity::of(2);
  HostInventory inventory = inventory_of({place_host("n1", 4), place_host("n2", 4)});
  for (Host& host : inventory.hosts) host.custom["licence"] = Quantity::of(3);
  const std::map<std::string, Quantity> held{{"licence", Quantity::of(2)}, {"x", Quantity::of(9)}};
  const auto use_of = [&](const char* host) {
    return HostUse{
        .host = host, .holder = "alice", .slots = {{0, Quantity::of(1)}}, .custom = held};
  };
  const auto plan = make_plan(experiment, inventory, {use_of("n1"), use_of("n2")});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == Refusal::Kind::busy);
  CHECK(holder_lines(plan.error().holders) ==
        std::vector<std::string>{"alice holds 2 slots and 4 licence of n[1-2]"});
}

TEST_CASE("hosts of very many sizes are searched to the end") {
  std::vector<int> sizes;
  for (int size = 1; size <= 1'600; ++size) sizes.push_back(size);
  ExperimentConfig experiment = slot_experiment(16'001);
  experiment.allow_heterogeneous = true;
  const auto plan = make_plan(experiment, gpu_inventory(sizes));
  REQUIRE(plan);
  for (const PlannedHost& host : plan->trial.hosts)
    CHECK(host.worker_count == *host.host.accelerators);
}

TEST_CASE("one host and one worker on each host exclude each other, and that is said") {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.placement = PlacementPolicy::strict_spread;
  experiment.is_single_node = true;
  const auto plan = make_plan(experiment, gpu_inventory({8, 8}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons[0].find("exclude each other") != std::string::npos);
}

TEST_CASE("nccl is refused where ranks get no GPU") {
  ExperimentConfig experiment = slot_experiment(12);
  experiment.backend = CollectiveBackend::nccl;
  experiment.placement = PlacementPolicy::pack;
  CHECK_FALSE(make_plan(experiment, inventory_of({gpu_host("n1", 8), cpu_host("n2", 8)})));
  CHECK(make_plan(experiment, inventory_of({gpu_host("n1", 8), gpu_host("n2", 8)})));
  ExperimentConfig none = cpu_experiment(1, 1);
  none.backend = CollectiveBackend::nccl;
  CHECK_FALSE(make_plan(none, gpu_inventory({8})));
  // Nobody said what these slots are.
  CHECK(make_plan(experiment, inventory_of({place_host("n1", 16)})));
}

TEST_CASE("slots that are CPUs beside hosts with GPUs are warned of") {
  const auto plan =
      make_plan(slot_experiment(16), inventory_of({gpu_host("n1", 8), cpu_host("n2", 16)}));
  REQUIRE(plan);
  REQUIRE(plan->warnings.size() == 1);
  CHECK(plan->warnings[0].message.find("the slots of n2 are CPUs") == 0);
  const auto cpus = make_plan(slot_experiment(16), inventory_of({cpu_host("n2", 16)}));
  REQUIRE(cpus);
  CHECK(cpus->warnings.empty());
}

TEST_CASE("a misspelt accelerator type names the one that hosts have") {
  ExperimentConfig experiment = gpu_experiment(1, 1);
  experiment.needs.accelerator_type = "a100";
  Host host = gpu_host("n1", 8);
  host.accelerator_type = "A100";
  const auto plan = make_plan(experiment, inventory_of({host}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.back() == "did you mean 'A100'?");
}

TEST_CASE("another accelerator is never taken for a misspelt one") {
  const auto reasons = [](const std::string& wanted, const std::string& had) {
    ExperimentConfig experiment = gpu_experiment(1, 1);
    experiment.needs.accelerator_type = wanted;
    Host host = gpu_host("n1", 8);
    host.accelerator_type = had;
    const auto plan = make_plan(experiment, inventory_of({host}));
    REQUIRE_FALSE(plan);
    return plan.error().reasons;
  };
  for (const auto& [wanted, had] : std::vector<std::pair<std::string, std::string>>{
           {"H100", "V100"},
           {"H100", "H200"},
           {"A100", "A10G"},
           {"B200", "GB200"},
           {"L4", "L40S"},
           {"AMD-Instinct-MI300X", "AMD-Instinct-MI300X-OAM"},
           {"TPU-V4", "TPU-V5P"}}) {
    INFO(wanted);
    CHECK(reasons(wanted, had).size() == 1);
    CHECK(reasons(had, wanted).size() == 1);
  }
  for (const std::string wanted : {"h100", "NVIDIA H100", "NVIDIA H100 80GB HBM3"})
    CHECK(reasons(wanted, "H100").back() == "did you mean 'H100'?");
  CHECK(reasons("amd_instinct_mi300x", "AMD-Instinct-MI300X").back() ==
        "did you mean 'AMD-Instinct-MI300X'?");
  CHECK(reasons("H100", "").back() ==
        "no host says its type: write 'accelerator_type:' in the hosts file");
}

TEST_CASE("CPUs are declared as slots only where that makes it fit") {
  const auto cpus = make_plan(slot_experiment(4), inventory_of({cpu_host("n1", 2)}));
  REQUIRE_FALSE(cpus);
  CHECK(cpus.error().reasons.back().find("-H n1:4") != std::string::npos);
  const auto named = make_plan(cpu_experiment(4, 4), inventory_of({cpu_host("n1", 8)}));
  REQUIRE_FALSE(named);
  CHECK(named.error().reasons.size() == 1);
}

TEST_CASE("TPU hosts that name no slice are told of it") {
  std::vector<Host> hosts;
  for (const char* name : {"t1", "t2", "t3", "t4"}) {
    hosts.push_back(gpu_host(name, 4));
    hosts.back().accelerator_type = "TPU-V6E";
  }
  ExperimentConfig experiment = slot_experiment(4);
  experiment.needs.slots = Quantity::of(4);
  experiment.needs.tpus_named = true;
  experiment.needs.accelerator_type = "TPU-V6E";
  experiment.slices = SliceNeeds{.slices = 1, .hosts = 4, .chips_per_host = 4, .topology = "4x4"};
  const auto plan = make_plan(experiment, inventory_of(hosts));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.back() ==
        "t[1-4] name no slice: write 'slice: NAME' for each host in the hosts file, the same for "
        "all hosts of a slice");
  for (Host& host : hosts) host.slice = "pod";
  CHECK(make_plan(experiment, inventory_of(hosts)));
  hosts.pop_back();
  const auto few = make_plan(experiment, inventory_of(hosts));
  REQUIRE_FALSE(few);
  CHECK(few.error().reasons.size() == 1);
}
