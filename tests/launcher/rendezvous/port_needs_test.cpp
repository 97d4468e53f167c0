// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/port_needs.hpp"

#include "tests/launcher/rendezvous/values.hpp"

using namespace train;

TEST_CASE("the framework says which ports are held") {
  const std::vector<std::pair<Framework, PortNeeds>> rows{
      {Framework::torch, {.rendezvous = true, .workers = false}},
      {Framework::deepspeed, {.rendezvous = true, .workers = false}},
      {Framework::jax, {.rendezvous = true, .workers = false}},
      {Framework::tensorflow, {.rendezvous = false, .workers = true}},
      {Framework::none, {.rendezvous = false, .workers = false}},
  };
  for (const auto& [framework, needs] : rows) {
    CAPTURE(to_string(framework));
    ExperimentConfig experiment = slot_experiment(2);
    experiment.framework = framework;
    CHECK(port_needs(planned(experiment, gpu_inventory({2}))) == needs);
  }
}

TEST_CASE("a host holds the ports of the servers that run on it") {
  ExperimentConfig experiment = slot_experiment(5);
  experiment.allow_heterogeneous = true;
  const Trial trial = planned(experiment, gpu_inventory({2, 3})).trial;
  const auto counts = [&](const PortNeeds& needs) {
    return std::vector<int>{held_ports(needs, trial, 0), held_ports(needs, trial, 1)};
  };
  CHECK(counts({.rendezvous = true}) == std::vector<int>{1, 0});
  CHECK(counts({.rendezvous = false}) == std::vector<int>{0, 0});
  CHECK(counts({.rendezvous = false, .workers = true}) == std::vector<int>{2, 3});
  CHECK(counts({.rendezvous = true, .megascale_host = 1}) == std::vector<int>{1, 1});
  CHECK(counts({.rendezvous = true, .megascale_host = 0, .workers = true}) ==
        std::vector<int>{4, 3});
}
