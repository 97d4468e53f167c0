// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/workers.hpp"

#include "tests/config_schema/reading.hpp"

using namespace train;
using train::testing::read_experiment;
using train::testing::refusal;

namespace {

struct Row {
  std::string yaml;
  int workers;
  double slots_each;
  double cpus;
  bool gpus_named;
};

}  // namespace

TEST_CASE("workers follow from slots, GPUs and num_workers") {
  const Row row = GENERATE(values<Row>({
      {"", 1, 1, 0, false},
      {"slots_per_trial: 8", 8, 1, 0, false},
      {"resources: {slots_per_trial: 8}", 8, 1, 0, false},
      {"slots_per_trial: 0", 1, 0, 0, false},
      {"{slots_per_trial: 8, resources_per_worker: {GPU: 2}}", 4, 2, 0, true},
      {"{slots_per_trial: 2, resources_per_worker: {GPU: 0.25}}", 8, 0.25, 0, true},
      {"{slots_per_trial: 3, resources_per_worker: {GPU: 0.3}}", 10, 0.3, 0, true},
      {"{slots_per_trial: 4, resources_per_worker: {CPU: 2}}", 4, 1, 2, false},
      {"{slots_per_trial: 8, num_workers: 8}", 8, 1, 0, false},
      {"{slots_per_trial: 8, num_workers: 4, resources_per_worker: {GPU: 2}}", 4, 2, 0, true},
      {"{slots_per_trial: 0, num_workers: 3}", 3, 0, 0, false},
      {"num_workers: 4", 4, 0, 1, false},
      {"{num_workers: 4, resources_per_worker: {CPU: 0.25}}", 4, 0, 0.25, false},
      {"resources: {num_workers: 4, resources_per_worker: {CPU: 0.25}}", 4, 0, 0.25, false},
      {"{num_workers: 4, resources_per_worker: {GPU: 2}}", 4, 2, 0, true},
      {"{num_workers: 4, resources_per_worker: {memory: 1GiB}}", 4, 0, 0, false},
      {"resources_per_worker: {GPU: 2, CPU: 3}", 1, 2, 3, true},
      {"resources_per_worker: {CPU: 3}", 1, 1, 3, false},
      {"resources_per_worker: {GPU: 0}", 1, 0, 0, false},
      {"scaling_config: {}", 1, 0, 1, false},
      {"scaling_config: {num_workers: 3}", 3, 0, 1, false},
      {"scaling_config: {num_workers: 3, use_gpu: true}", 3, 1, 0, true},
      {"scaling_config: {num_workers: 3, use_gpu: true, resources_per_worker: {CPU: 2}}", 3, 1, 2,
       true},
      {"scaling_config: {num_workers: 4, use_gpu: true, resources_per_worker: {GPU: 0.5}}", 4, 0.5,
       0, true},
      {"scaling_config: {num_workers: 2, use_gpu: false, resources_per_worker: {GPU: 0}}", 2, 0, 0,
       false},
  }));
  INFO(row.yaml);
  const ExperimentConfig config = read_experiment(
      row.yaml.substr(0, 1) == "{" ? "{entrypoint: x, " + row.yaml.substr(1) : row.yaml);
  CHECK(config.workers == row.workers);
  CHECK(config.needs.slots == *Quantity::from_double(row.slots_each));
  CHECK(config.needs.cpus == *Quantity::from_double(row.cpus));
  CHECK(config.needs.gpus_named == row.gpus_named);
  CHECK(config.slots == config.needs.slots * config.workers);
}

TEST_CASE("memory, custom resources and accelerators are needs too") {
  const auto config = read_experiment(
      "scaling_config:\n  use_gpu: true\n  accelerator_type: A100\n"
      "  resources_per_worker: {GPU: 1, memory: 16GiB, licenses: 0.5, fpga: 2}\n");
  CHECK(config.needs.memory == 16ull << 30);
  CHECK(config.needs.custom.at("licenses") == *Quantity::from_double(0.5));
  CHECK(config.needs.custom.at("fpga") == Quantity::of(2));
  CHECK(config.needs.accelerator_type == "A100");
  CHECK_FALSE(config.needs.cpus_named);
}

TEST_CASE("an experiment in Ray's vocabulary is packed unless it says otherwise") {
  CHECK(read_experiment("scaling_config: {num_workers: 2}").placement == PlacementPolicy::pack);
  CHECK(read_experiment("num_workers: 2").placement == PlacementPolicy::automatic);
  CHECK(read_experiment("scaling_config: {placement_strategy: STRICT_SPREAD}").placement ==
        PlacementPolicy::strict_spread);
  CHECK(read_experiment("scaling_config: {num_workers: 2}\nresources: {placement: auto}\n")
            .placement == PlacementPolicy::automatic);
  CHECK(read_experiment("resources: {placement: pack}\nscaling_config: {placement_strategy: PACK}")
            .placement == PlacementPolicy::pack);
}

TEST_CASE("requests that contradict themselves are refused") {
  const auto [yaml, message] = GENERATE(table<std::string, std::string>({
      {"slots_per_trial: 8\nnum_workers: 3", "makes 8 workers of 1 slot\n"},
      {"slots_per_trial: 1\nnum_workers: 3", "makes 1 worker of 1 slot\n"},
      {"slots_per_trial: 1\nresources_per_worker: {GPU: 2}",
       "1 slot cannot be shared out to workers of 2 GPUs each"},
      {"slots_per_trial: 3\nlabel_selector: [{a: b}]", "has 1 entry for 3 workers\n"},
      {"num_workers: 1\nlabel_selector: []", "has 0 entries for 1 worker ('num_workers: 1'"},
      {"slots_per_trial: 8\nresources_per_worker: {GPU: 3}", "cannot be shared out"},
      {"slots_per_trial: 1\nresources_per_worker: {GPU: 0.3333}", "cannot be shared out"},
      {"slots_per_trial: 4\nresources_per_worker: {GPU: 0}", "each worker takes 0 GPUs"},
      {"slots_per_trial: 0\nresources_per_worker: {GPU: 1}", "each worker takes 1 GPU"},
      {"slots_per_trial: 1000000\nresources_per_worker: {GPU: 0.5}", "cannot be shared out"},
      {"num_workers: 2\nresources_per_worker: {GPU: 1.5}", "must be a whole number"},
      {"num_workers: 2\nresources_per_worker: {GPU: 1, TPU: 1}", "cannot be given with 'GPU: 1'"},
      {"num_workers: 0", "from 1 to"},
      {"num_workers: 2\nresources_per_worker: {GPU: -1}", "must be 0, or from 0.0001"},
      {"num_workers: 2\nresources_per_worker: {CPU: 1e300}", "must be 0, or from 0.0001"},
      {"num_workers: 2\nresources_per_worker: {CPU: true}", "must be a number"},
      {"scaling_config: {resources_per_worker: {GPU: 1}}", "needs 'use_gpu: true'"},
      {"scaling_config: {use_gpu: false, resources_per_worker: {GPU: 1}}", "false on line 1"},
      {"scaling_config: {use_gpu: true, resources_per_worker: {GPU: 0}}", "contradicts 'GPU: 0'"},
      {"scaling_config: {label_selector: {a: in(}}", "has no ')'"},
      {"scaling_config: {label_selector: {-a: b}}", "is no name of a label"},
      {"scaling_config: {trainer_resources: {CPU: -1}}", "must be 0, or from 0.0001"},
      {"scaling_config: {trainer_resources: {GPU: 1.5}}", "must be a whole number"},
  }));
  INFO(yaml);
  CHECK(refusal(yaml).find(message) != std::string::npos);
}

TEST_CASE("a flag wins over what the file says of workers") {
  ExperimentOverrides two;
  two.slots = 2;
  CHECK(read_experiment("slots_per_trial: 8", two).workers == 2);
  CHECK(read_experiment("slots_per_trial: 8\nresources_per_worker: {GPU: 2}", two).workers == 1);
  CHECK(read_experiment("scaling_config: {num_workers: 8, use_gpu: true}", two).workers == 2);
  CHECK(read_experiment("num_workers: 8\nresources_per_worker: {GPU: 2}", two).workers == 1);
  ExperimentOverrides workers;
  workers.settings = {"num_workers=3"};
  CHECK(read_experiment("slots_per_trial: 8", workers).workers == 3);
}

TEST_CASE("-n counts workers where they take no slots") {
  ExperimentOverrides two;
  two.slots = 2;
  const auto config = read_experiment("num_workers: 8\nresources_per_worker: {CPU: 0.25}", two);
  CHECK(config.workers == 2);
  CHECK(config.needs.slots.is_zero());
  CHECK(config.needs.cpus == *Quantity::from_double(0.25));
}
