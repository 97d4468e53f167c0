// SPDX-License-Identifier: Apache-2.0
// How many trials run at once in the cases of Ray Tune's guide to parallelism and resources.
#include <fmt/format.h>

#include "launcher/placement/placement.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::testing;

namespace {

// 0: refused.
std::int64_t at_once(const std::string& host, const std::string& resources) {
  const auto config = parse_experiment(
      {"experiment.yaml",
       fmt::format("entrypoint: python3 train.py\nnum_samples: 10\n{}", resources)},
      {}, ReadFor::planning);
  INFO((config ? std::string() : render(config.error())));
  REQUIRE(config);
  const auto inventory =
      parse_hosts({"hosts.yaml", fmt::format("hosts: [{{name: one, resources: {}}}]", host)});
  REQUIRE(inventory);
  const auto plan = make_plan(*config, *inventory);
  if (!plan) return 0;
  REQUIRE(plan->trials);
  return plan->trials->at_once;
}

}  // namespace

TEST_CASE("the cases of Tune's guide") {
  CHECK(at_once("{CPU: 4}", "") == 4);
  CHECK(at_once("{CPU: 4}", "resources_per_trial: {cpu: 2}") == 2);
  CHECK(at_once("{CPU: 4}", "resources_per_trial: {cpu: 4}") == 1);
  CHECK(at_once("{CPU: 4}", "resources_per_trial: {cpu: 0.5}") == 8);
  CHECK(at_once("{CPU: 4, GPU: 1}", "resources_per_trial: {cpu: 2, gpu: 1}") == 1);
  CHECK(at_once("{CPU: 8, GPU: 8}", "resources_per_trial: {gpu: 1}") == 8);
  CHECK(at_once("{CPU: 16}", "resources_per_trial: {cpu: 3}") == 5);
  CHECK(at_once("{CPU: 8, GPU: 4}", "resources_per_trial: {gpu: 0.5}") == 8);
}

TEST_CASE("bundles of a trial are all there or none") {
  const char* const two = "resources_per_trial: [{cpu: 1}, {cpu: 1, gpu: 1}, {cpu: 1, gpu: 1}]";
  CHECK(at_once("{CPU: 3, GPU: 2}", two) == 1);
  CHECK(at_once("{CPU: 8, GPU: 8}", two) == 2);
  CHECK(at_once("{CPU: 9, GPU: 8}", two) == 3);
  CHECK(at_once("{CPU: 96, GPU: 8}", two) == 4);
  CHECK(at_once("{CPU: 96, GPU: 8}", "resources_per_trial: [{gpu: 0.5}, {gpu: 0.5}]") == 8);
  CHECK(at_once("{CPU: 8, GPU: 8}", "resources_per_trial: [{cpu: 1, gpu: 1}]") == 8);
  CHECK(at_once("{CPU: 2, GPU: 2}", two) == 0);
  CHECK(at_once("{CPU: 4}", "resources_per_trial: {tape: 1}") == 0);
}
