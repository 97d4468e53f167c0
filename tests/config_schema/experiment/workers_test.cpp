// SPDX-License-Identifier: Apache-2.0
// The trainer's resources, TPU slices, labels, and how many trials a search has.
#include "config_schema/experiment/workers.hpp"

#include "tests/catch.hpp"
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

namespace {

// A command on hosts that have room for five ranks.
ExperimentConfig command_on_five(std::vector<std::string> settings, std::optional<int> slots = {}) {
  ExperimentOverrides overrides;
  overrides.command = {"python3", "train.py"};
  overrides.settings = std::move(settings);
  overrides.slots = slots;
  overrides.workers = 5;
  const auto config = make_experiment(overrides);
  if (!config) FAIL(render(config.error()));
  return *config;
}

}  // namespace

TEST_CASE("a command without a file takes all slots in order, unless a flag says otherwise") {
  const ExperimentConfig all = command_on_five({});
  CHECK(all.workers == 5);
  CHECK(all.slots == Quantity::of(5));
  CHECK(all.counts_slots);
  CHECK(all.placement == PlacementPolicy::in_order);
  CHECK(command_on_five({}, 3).workers == 3);
  CHECK(command_on_five({"resources.resources_per_worker.GPU=2"}).slots == Quantity::of(10));
  CHECK(command_on_five({"resources.placement=auto"}).placement == PlacementPolicy::automatic);
  CHECK(command_on_five({"resources.placement=spread"}).workers == 5);
  for (const char* setting : {"slots_per_trial=2", "num_workers=2", "scaling_config.num_workers=2"})
    CHECK(command_on_five({setting}).workers == 2);
  CHECK(command_on_five({"scaling_config.use_gpu=true"}).workers == 1);
  CHECK(command_on_five({"scaling_config.use_gpu=true"}).placement == PlacementPolicy::pack);
}

TEST_CASE("trials of a search without a file share the hosts: a slot each") {
  CHECK(command_on_five({"searcher={name: random, metric: loss, max_trials: 3}",
                         "hyperparameters.lr={type: double, minval: 0, maxval: 1}"})
            .workers == 1);
}

TEST_CASE("a command of an earlier train, which knew of no such default, is read as it was") {
  ExperimentOverrides overrides;
  overrides.command = {"true"};
  const auto config = make_experiment(overrides);
  REQUIRE(config);
  CHECK(config->workers == 1);
  CHECK(config->placement == PlacementPolicy::automatic);
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

namespace {

Result<ExperimentConfig> parse(const std::string& yaml) {
  return parse_experiment({"experiment.yaml", "entrypoint: python3 train.py\n" + yaml}, {},
                          ReadFor::planning);
}

ExperimentConfig read(const std::string& yaml) {
  auto config = parse(yaml);
  INFO((config ? std::string() : render(config.error())));
  REQUIRE(config);
  return *config;
}

std::string planning_refusal(const std::string& yaml) {
  const auto config = parse(yaml);
  return config ? std::string() : render(config.error());
}

}  // namespace

TEST_CASE("the trainer's resources are read, and nothing is nothing") {
  const auto config = read(
      "scaling_config: {num_workers: 2, trainer_resources: {CPU: 1.5, GPU: 1, memory: 1GiB, tape: "
      "2, spare: 0}}");
  CHECK(config.trainer.cpus == *Quantity::from_double(1.5));
  CHECK(config.trainer.gpus == Quantity::of(1));
  CHECK(config.trainer.memory == std::uint64_t{1} << 30);
  CHECK(config.trainer.custom == std::map<std::string, Quantity>{{"tape", Quantity::of(2)}});
  CHECK(read("scaling_config: {trainer_resources: {CPU: 0, GPU: 0}}").trainer.empty());
  CHECK(read("scaling_config: {trainer_resources: {}}").trainer.empty());
  CHECK(read("scaling_config: {trainer_resources: {GPU: 1}}").trainer.cpus.is_zero());
  CHECK(planning_refusal("scaling_config: {trainer_resources: {TPU: 1}}").find("TPU") !=
        std::string::npos);
}

TEST_CASE("the trainer of a ScalingConfig takes one CPU unless it is told otherwise") {
  const auto config = read("scaling_config: {num_workers: 2}");
  CHECK(config.trainer.cpus == Quantity::of(1));
  CHECK(config.trainer.is_default);
  CHECK(config.warnings.empty());
  CHECK(read("scaling_config: {num_workers: 2, trainer_resources: {CPU: 1}}") == config);
  CHECK(read("scaling_config: {num_workers: 2, trainer_resources: null}") == config);
  CHECK(read("num_workers: 2").trainer.empty());
  CHECK(read("slots_per_trial: 2").trainer.empty());
  CHECK(read("scaling_config: {trainer_resources: {CPU: 0}}").warnings.empty());
  CHECK(read("scaling_config: {trainer_resources: {CPU: 2}}").warnings.size() == 1);
  // Not beside workers that select hosts of their own.
  CHECK(read("scaling_config: {num_workers: 2, label_selector: [{a: b}, {a: c}]}").trainer.empty());
}

TEST_CASE("workers of a TPU slice take its chips") {
  struct Row {
    std::string type;
    std::string topology;
    std::string more;
    SliceNeeds slices;
    int chips;  // of a worker
  };
  // Ray: workers that use every chip; Determined's readers know one worker for each host.
  const Row row = GENERATE(values<Row>({
      {"TPU-V4", "2x2x1", "num_workers: 1", {1, 1, 4, 1, "2x2x1"}, 4},
      {"v4", "2x2x2", "num_workers: 2", {1, 2, 4, 1, "2x2x2"}, 4},
      {"v4", "2x2x2", "num_workers: 4", {2, 2, 4, 1, "2x2x2"}, 4},
      {"v4", "2x2x4", "num_workers: 4", {1, 4, 4, 1, "2x2x4"}, 4},
      {"v4", "2x2x1", "num_workers: 4, resources_per_worker: {TPU: 1}", {1, 1, 4, 4, "2x2x1"}, 1},
      {"v4", "2x2x1", "num_workers: 8, resources_per_worker: {TPU: 1}", {2, 1, 4, 4, "2x2x1"}, 1},
      {"v4", "2x2x2", "num_workers: 16, resources_per_worker: {TPU: 1}", {2, 2, 4, 4, "2x2x2"}, 1},
      {"v4", "2x2x2", "num_workers: 2, resources_per_worker: {TPU: 1}", {1, 2, 4, 1, "2x2x2"}, 1},
      {"v6e", "2x4", "num_workers: 1", {1, 1, 8, 1, "2x4"}, 8},
      {"TPU-v6e", "4x4", "num_workers: 8", {2, 4, 4, 1, "4x4"}, 4},
      {"tpu7x", "2x2x2", "num_workers: 2", {1, 2, 4, 1, "2x2x2"}, 4},
  }));
  CAPTURE(row.type, row.topology, row.more);
  const auto config = read("scaling_config: {use_tpu: true, accelerator_type: " + row.type +
                           ", topology: " + row.topology + ", " + row.more + "}");
  CHECK(config.slices == row.slices);
  CHECK(config.needs.slots == Quantity::of(row.chips));
  CHECK(config.needs.tpus_named);
  CHECK_FALSE(config.needs.gpus_named);
}

TEST_CASE("TPU workers that make no slice are refused") {
  CHECK(planning_refusal("scaling_config: {use_tpu: true, accelerator_type: v4, topology: 2x2x2}")
            .find("'num_workers' is absent, which is 1") != std::string::npos);
  CHECK(planning_refusal("scaling_config: {use_tpu: true, accelerator_type: v4, topology: 2x2x2, "
                         "num_workers: 2, resources_per_worker: {TPU: 8}}")
            .find("has 4 chips") != std::string::npos);
  CHECK(planning_refusal("resources_per_worker: {GPU: 1, TPU: 1}")
            .find("cannot be given with 'GPU: 1'") != std::string::npos);
}

TEST_CASE("chips without a topology are one for each worker unless said") {
  CHECK(read("scaling_config: {use_tpu: true}").needs.slots == Quantity::of(1));
  const auto eight = read("slots_per_trial: 8\nresources_per_worker: {TPU: 4}");
  CHECK(eight.workers == 2);
  CHECK(eight.needs.tpus_named);
  CHECK_FALSE(eight.slices);
}

TEST_CASE("labels are read for all workers, or for each") {
  const auto all = read("scaling_config: {label_selector: {zone: 'in(a, b)', disk: '!slow'}}");
  REQUIRE(all.label_selectors.size() == 1);
  CHECK(to_string(all.label_selectors[0]) == "zone=(a|b), disk!=slow");
  const auto each =
      read("scaling_config: {num_workers: 2, label_selector: [{zone: a}, {zone: b}]}");
  REQUIRE(each.label_selectors.size() == 2);
  CHECK(to_string(each.label_selectors[1]) == "zone=b");
}
