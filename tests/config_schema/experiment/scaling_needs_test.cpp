// SPDX-License-Identifier: Apache-2.0
// The trainer's resources, TPU slices, labels, and how many trials a search has.
#include "config_schema/experiment/scaling_needs.hpp"

#include "tests/catch.hpp"

using namespace train;

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

std::string refusal(const std::string& yaml) {
  const auto config = parse(yaml);
  return config ? std::string() : render(config.error());
}

constexpr const char* lr = "hyperparameters: {lr: {type: int, minval: 1, maxval: 3, count: 8}, ";
constexpr const char* grid = "searcher: {name: grid, metric: loss}\n";

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
  CHECK(refusal("scaling_config: {trainer_resources: {TPU: 1}}").find("TPU") != std::string::npos);
}

TEST_CASE("the trainer of a ScalingConfig takes one CPU unless it is told otherwise") {
  const auto config = read("scaling_config: {num_workers: 2}");
  CHECK(config.trainer.cpus == Quantity::of(1));
  CHECK(config.trainer.is_usual);
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
  CHECK(refusal("scaling_config: {use_tpu: true, accelerator_type: v4, topology: 2x2x2}")
            .find("'num_workers' is absent, which is 1") != std::string::npos);
  CHECK(refusal("scaling_config: {use_tpu: true, accelerator_type: v4, topology: 2x2x2, "
                "num_workers: 2, resources_per_worker: {TPU: 8}}")
            .find("has 4 chips") != std::string::npos);
  CHECK(refusal("resources_per_worker: {GPU: 1, TPU: 1}").find("cannot be given with 'GPU: 1'") !=
        std::string::npos);
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

TEST_CASE("the number of trials is the searcher's") {
  CHECK(read("").search == SearchSize{});
  CHECK(read("searcher: {name: single}").search.trials == 1);
  const auto random = read("searcher: {name: random, metric: loss, max_trials: 40}");
  CHECK(random.search.trials == 40);
  CHECK(random.search.most_at_once == 16);  // Determined's default
  const auto open =
      read("searcher: {name: random, metric: loss, max_trials: 40, max_concurrent_trials: 0}");
  CHECK_FALSE(open.search.most_at_once);
}

TEST_CASE("a grid has as many trials as its parameters have points together") {
  // A range of three whole numbers has three points, whatever its count says.
  CHECK(read(std::string(grid) + lr + "a: 1}").search.trials == 3);
  CHECK(read(std::string(grid) + lr + "b: {type: categorical, vals: [x, y]}}").search.trials == 6);
  CHECK(read(std::string(grid) + lr + "c: {type: double, minval: 0, maxval: 1, count: 10}}")
            .search.trials == 30);
  CHECK(read(std::string(grid) + "hyperparameters: {a: 1}").search.trials == 1);
  CHECK_FALSE(read(std::string(grid) +
                   "hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: "
                   "9000000000000000000}, b: {type: double, minval: 0, maxval: 1, count: 9}}")
                  .search.trials);
}

TEST_CASE("max_slots below one trial is refused") {
  CHECK(read("resources: {slots_per_trial: 4, max_slots: 4}").search.most_slots == 4);
  CHECK(refusal("resources: {slots_per_trial: 4, max_slots: 3}")
            .find("'max_slots' is 3, but one trial takes 4 slots") != std::string::npos);
}
