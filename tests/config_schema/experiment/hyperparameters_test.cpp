// SPDX-License-Identifier: Apache-2.0
// The size of a search. What hyperparameters may be is in the golden cases.
#include "config_schema/experiment/hyperparameters.hpp"

#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::testing;

namespace {

constexpr const char* lr = "hyperparameters: {lr: {type: int, minval: 1, maxval: 3, count: 8}, ";
constexpr const char* grid = "searcher: {name: grid, metric: loss}\n";

ExperimentConfig read_for_planning(const std::string& yaml) {
  const auto config = parse_experiment({"experiment.yaml", "entrypoint: python3 train.py\n" + yaml},
                                       {}, ReadFor::planning);
  INFO((config ? std::string() : render(config.error())));
  REQUIRE(config);
  return *config;
}

}  // namespace

TEST_CASE("the number of trials is the searcher's") {
  CHECK(read_for_planning("").search == SearchSize{});
  CHECK(read_for_planning("searcher: {name: single}").search.trials == 1);
  const auto random = read_for_planning("searcher: {name: random, metric: loss, max_trials: 40}");
  CHECK(random.search.trials == 40);
  CHECK(random.search.most_at_once == 16);  // Determined's default
  const auto open = read_for_planning(
      "searcher: {name: random, metric: loss, max_trials: 40, max_concurrent_trials: 0}");
  CHECK_FALSE(open.search.most_at_once);
}

TEST_CASE("a grid has as many trials as its parameters have points together") {
  // A range of three whole numbers has three points, whatever its count says.
  CHECK(read_for_planning(std::string(grid) + lr + "a: 1}").search.trials == 3);
  CHECK(read_for_planning(std::string(grid) + lr + "b: {type: categorical, vals: [x, y]}}")
            .search.trials == 6);
  CHECK(read_for_planning(std::string(grid) + lr +
                          "c: {type: double, minval: 0, maxval: 1, count: 10}}")
            .search.trials == 30);
  CHECK(read_for_planning(std::string(grid) + "hyperparameters: {a: 1}").search.trials == 1);
  CHECK_FALSE(
      read_for_planning(std::string(grid) +
                        "hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: "
                        "9000000000000000000}, b: {type: double, minval: 0, maxval: 1, count: 9}}")
          .search.trials);
}

TEST_CASE("max_slots below one trial is refused") {
  CHECK(read_for_planning("resources: {slots_per_trial: 4, max_slots: 4}").search.most_slots == 4);
  CHECK(refusal("resources: {slots_per_trial: 4, max_slots: 3}")
            .find("'max_slots' is 3, but one trial takes 4 slots") != std::string::npos);
}
