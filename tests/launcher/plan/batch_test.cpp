// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/batch.hpp"

#include <numeric>

#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

using Sizes = std::vector<std::uint64_t>;

BatchShares split(std::uint64_t global, const std::vector<double>& weights, BatchSplit how,
                  BatchRemainder remainder = BatchRemainder::drop) {
  ExperimentConfig experiment = slot_experiment(static_cast<int>(weights.size()));
  experiment.global_batch_size = global;
  experiment.batch_split = how;
  experiment.batch_remainder = remainder;
  return split_batch(experiment, weights);
}

std::vector<double> equal(int workers) { return std::vector<double>(workers, 1.0); }

}  // namespace

TEST_CASE("a batch is split evenly and the remainder dropped, as Determined does") {
  struct Case {
    std::uint64_t global;
    int slots;
    std::uint64_t per_slot, sum;
  };
  for (const Case& each : {Case{1, 1, 1, 1}, Case{8, 2, 4, 8}, Case{512, 10, 51, 510}}) {
    CAPTURE(each.global, each.slots);
    const BatchShares shares = split(each.global, equal(each.slots), BatchSplit::even);
    CHECK(shares.per_slot == each.per_slot);
    CHECK(shares.sum == each.sum);
    CHECK(shares.sizes == Sizes(each.slots, each.per_slot));
  }
}

TEST_CASE("a remainder can be spread over the first ranks") {
  CHECK(split(11, equal(4), BatchSplit::even, BatchRemainder::spread).sizes == Sizes{3, 3, 3, 2});
}

TEST_CASE("a weighted batch goes by largest remainder and sums exactly") {
  struct Case {
    std::uint64_t global;
    std::vector<double> weights;
    Sizes expected;
  };
  const std::vector<Case> cases{{10, {1, 1, 1}, {4, 3, 3}},  {8, {1, 3}, {2, 6}},
                                {10, {2, 1}, {7, 3}},        {7, {0.5, 0.25, 0.25}, {3, 2, 2}},
                                {3, {100, 1, 1}, {1, 1, 1}}, {10, {100, 1, 1}, {8, 1, 1}},
                                {10, {1e-300, 1}, {1, 9}},   {10, {1e300, 1}, {9, 1}}};
  for (const Case& each : cases) {
    CAPTURE(each.global, each.weights);
    CHECK(split(each.global, each.weights, BatchSplit::weighted).sizes == each.expected);
  }
}

TEST_CASE("a weighted batch sums to the batch whatever the weights are") {
  for (std::uint64_t global = 5; global < 300; ++global) {
    const BatchShares shares = split(global, {0.1, 3.7, 1, 1, 0.01}, BatchSplit::weighted);
    CAPTURE(global);
    REQUIRE(shares.sum == global);
    for (const std::uint64_t size : shares.sizes) REQUIRE(size >= 1);
  }
  CHECK(split(std::uint64_t{1} << 62, {1, 2, 4}, BatchSplit::weighted).sum == std::uint64_t{1}
                                                                                  << 62);
}

TEST_CASE("a plan carries sizes, offsets and sums") {
  ExperimentConfig experiment = slot_experiment(10);
  experiment.global_batch_size = 512;
  experiment.aggregation_frequency = 4;
  const auto plan = make_plan(experiment, gpu_inventory({10}));
  REQUIRE(plan);
  CHECK(plan->trial.batch_sum == 510u);
  CHECK(plan->trial.effective_batch_size == 2'040u);
  CHECK(plan->trial.per_slot_batch_size == 51u);
  CHECK(plan->trial.ranks[9].batch_offset == 459u);
  CHECK(warnings_of(*plan) ==
        std::vector<std::string>{"global_batch_size 512 does not divide by 10 workers: they take "
                                 "510 samples per step (batch_remainder: spread takes all)"});
}

TEST_CASE("weights are those of the ranks' hosts") {
  ExperimentConfig experiment = slot_experiment(4);
  experiment.global_batch_size = 12;
  experiment.batch_split = BatchSplit::weighted;
  HostInventory hosts = gpu_inventory({2, 2});
  hosts.hosts[1].weight = 2;
  const auto plan = make_plan(experiment, hosts);
  REQUIRE(plan);
  CHECK(plan->trial.ranks[0].batch_size == 2u);
  CHECK(plan->trial.ranks[3].batch_size == 4u);
  CHECK(plan->trial.ranks[3].batch_offset == 8u);
}

TEST_CASE("per slot is per rank when no slots are taken, and counts shared slots") {
  ExperimentConfig cpus = cpu_experiment(4, 1);
  cpus.global_batch_size = 10;
  CHECK(split_batch(cpus, equal(4)).per_slot == 2);
  ExperimentConfig halves = gpu_experiment(4, 0.5);
  halves.global_batch_size = 10;
  CHECK(split_batch(halves, equal(4)).per_slot == 5);
}

TEST_CASE("without a batch there are no batch fields") {
  const auto plan = make_plan(slot_experiment(2), gpu_inventory({2}));
  REQUIRE(plan);
  CHECK_FALSE(plan->trial.batch_sum);
  CHECK_FALSE(plan->trial.per_slot_batch_size);
  CHECK_FALSE(plan->trial.ranks[0].batch_size);
}
