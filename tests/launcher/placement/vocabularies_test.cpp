// SPDX-License-Identifier: Apache-2.0
// The same request in Determined's words, in Ray's and in train's own is the same plan.
#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/formats/formats.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

ExperimentConfig read(const std::string& yaml) {
  const std::string head = "name: digits\nentrypoint: python3 train.py\n";
  auto config = parse_experiment({"experiment.yaml", head + yaml}, {}, ReadFor::planning);
  INFO((config ? std::string() : render(config.error())));
  REQUIRE(config);
  config->warnings.clear();  // they name the words that were used, and so does advice
  config->written = {};
  return *config;
}

HostInventory cluster() {
  HostInventory inventory = gpu_inventory({4, 4, 2, 8});
  for (Host& host : inventory.hosts) {
    host.accelerator_type = host.name == "n4" ? "H100" : "A100";
    host.cpus = Quantity::of(16);
  }
  return inventory;
}

std::string plan_of(const std::string& yaml) {
  const auto plan = make_plan(read(yaml), cluster());
  INFO((plan ? std::string() : reasons_of(plan.error())));
  REQUIRE(plan);
  return plan_to_json(*plan);
}

}  // namespace

TEST_CASE("one request in several vocabularies is one plan") {
  const std::vector<std::string> same = GENERATE(values<std::vector<std::string>>({
      {"resources: {slots_per_trial: 4, resources_per_worker: {GPU: 1}, placement: pack}",
       "slots_per_trial: 4\nresources_per_worker: {GPU: 1}\nresources: {placement: pack}",
       "num_workers: 4\nresources_per_worker: {GPU: 1}\nresources: {placement: pack}",
       "scaling_config: {num_workers: 4, use_gpu: true, trainer_resources: {}}",
       "scaling_config: {num_workers: 4, use_gpu: true, placement_strategy: PACK, "
       "trainer_resources: {}}"},
      {"resources: {slots_per_trial: 8, resources_per_worker: {GPU: 2}, placement: strict_spread}",
       "scaling_config: {num_workers: 4, use_gpu: true, resources_per_worker: {GPU: 2}, "
       "placement_strategy: STRICT_SPREAD, trainer_resources: {}}"},
      {"slots_per_trial: 2\nresources_per_worker: {GPU: 0.5, CPU: 2}\nresources: {placement: "
       "spread}",
       "scaling_config: {num_workers: 4, use_gpu: true, resources_per_worker: {GPU: 0.5, CPU: 2}, "
       "placement_strategy: SPREAD, trainer_resources: {}}"},
      {"slots_per_trial: 0\nresources: {placement: pack}\nresources_per_worker: {CPU: 1}",
       "scaling_config: {num_workers: 1, trainer_resources: {}}"},
      {"hyperparameters: {global_batch_size: 33}\nslots_per_trial: 8\nresources_per_worker: {GPU: "
       "1}",
       "global_batch_size: 33\nhyperparameters: {global_batch_size: 33}\nnum_workers: 8\n"
       "resources_per_worker: {GPU: 1}",
       "hyperparameters: {global_batch_size: 33}\nscaling_config: {num_workers: 8, use_gpu: true, "
       "trainer_resources: {}}\n"
       "resources: {placement: auto}"},
  }));
  const std::string first = plan_of(same.front());
  for (const std::string& other : same) {
    CAPTURE(same.front(), other);
    CHECK(plan_of(other) == first);
  }
}

TEST_CASE("the same inputs give the same bytes") {
  const char* yaml = "slots_per_trial: 8\nresources_per_worker: {GPU: 1}";
  CHECK(plan_of(yaml) == plan_of(yaml));
}
