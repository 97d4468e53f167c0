// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment/trial_resources.hpp"

#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::testing;

namespace {

ExperimentConfig planned(const std::string& resources) {
  const auto config = parse_experiment(
      {"experiment.yaml", "entrypoint: python3 train.py\nresources_per_trial: " + resources}, {},
      ReadFor::planning);
  INFO((config ? std::string() : render(config.error())));
  REQUIRE(config);
  return *config;
}

bool is_refused(const std::string& resources, const std::string& why) {
  const std::string told = refusal("resources_per_trial: " + resources);
  INFO(resources << ": " << told);
  const bool is_told = told.find(why) != std::string::npos;
  CHECK(is_told);
  return is_told;
}

}  // namespace

TEST_CASE("a mapping is what one process takes, and what it does not name it does not take") {
  const auto cpus = planned("{cpu: 0.5}");
  CHECK(cpus.workers == 1);
  CHECK(cpus.slots.is_zero());
  CHECK(cpus.needs.cpus.parts() == Quantity::scale / 2);
  CHECK(cpus.trainer.empty());
  const auto gpu = planned("{gpu: 2, memory: 16GiB, tape: 3}");
  CHECK(gpu.slots == Quantity::of(2));
  CHECK(gpu.needs.gpus_named);
  CHECK(gpu.needs.cpus.is_zero());
  CHECK(gpu.needs.memory == std::uint64_t{16} << 30);
  CHECK(gpu.needs.custom.at("tape") == Quantity::of(3));
  CHECK(planned("{CPU: 3, GPU: 1}").needs.cpus == Quantity::of(3));
}

TEST_CASE("of several bundles the first is the trainer's, and each other one a worker's") {
  for (const char* text : {"[{CPU: 1}, {cpu: 2, gpu: 1}, {CPU: 2, GPU: 1}]",
                           "{bundles: [{cpu: 1}, {cpu: 2, gpu: 1}, {cpu: 2, gpu: 1}]}"}) {
    const auto config = planned(text);
    CHECK(config.workers == 2);
    CHECK(config.slots == Quantity::of(2));
    CHECK(config.needs.cpus == Quantity::of(2));
    CHECK(config.trainer.cpus == Quantity::of(1));
  }
  const auto one = planned("[{cpu: 4}]");
  CHECK(one.workers == 1);
  CHECK(one.needs.cpus == Quantity::of(4));
  CHECK(one.trainer.empty());
  CHECK(planned("{bundles: [{cpu: 1}, {cpu: 1}, {cpu: 1}], strategy: STRICT_SPREAD}").placement ==
        PlacementPolicy::strict_spread);
}

TEST_CASE("resources that are none are refused") {
  is_refused("3", "'resources_per_trial' must be");
  is_refused("[]", "'resources_per_trial' must be a list of at least one bundle");
  is_refused("[3]", "'resources_per_trial[0]' must be a mapping of amounts, not the integer 3");
  is_refused("{bundles: 3}", "'resources_per_trial.bundles' must be a list of at least one bundle");
  is_refused("{bundles: [{cpu: 1}], cpu: 1}",
             "unknown key 'cpu' beside 'bundles' in 'resources_per_trial'");
  is_refused("{bundles: [{cpu: 1}], strategy: PACKED}",
             "'resources_per_trial.strategy' must be one of PACK, SPREAD, STRICT_PACK or "
             "STRICT_SPREAD, not the string 'PACKED'");
  is_refused("{cpu: 1, CPU: 1}", "'cpu' and 'CPU' are both in 'resources_per_trial'");
  is_refused("{cpu: many}", "'resources_per_trial.CPU'");
  is_refused("{cpu: -1}", "'resources_per_trial.CPU'");
  is_refused("{gpu: 1.5}", "above 1 it must be a whole number");
  is_refused("[{cpu: 1}, {cpu: 1}, {cpu: 2}]",
             "'resources_per_trial[2]' is not like 'resources_per_trial[1]'");
}

TEST_CASE("one key alone says what a trial takes") {
  for (const char* other : {"slots_per_trial: 2", "num_workers: 2",
                            "scaling_config: {use_gpu: true}", "resources_per_worker: {CPU: 1}"})
    CHECK(refusal("resources_per_trial: {cpu: 1}\n" + std::string(other))
              .find("'resources_per_trial' cannot be given with '") != std::string::npos);
}
