// SPDX-License-Identifier: Apache-2.0
// What is searched. What is said of wrong words is in the golden cases.
#include "config_schema/experiment/experiment_search.hpp"

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

TEST_CASE("an experiment of which nothing is chosen is no search") {
  CHECK_FALSE(read_for_planning("").search_config);
  CHECK_FALSE(read_for_planning("searcher: {name: single}\nhyperparameters: {a: 1}").search_config);
  const auto drawn = read_for_planning("searcher: {name: single}\n" + std::string(lr) + "a: 1}");
  REQUIRE(drawn.search_config);
  CHECK(drawn.search_config->settings.method == SearchMethod::single);
  CHECK(drawn.search_config->space.size() == 2);
}

TEST_CASE("a search has the numbers of its searcher") {
  const auto config = read_for_planning(R"(
reproducibility: {experiment_seed: 4294967295}
searcher:
  name: adaptive_asha
  metric: accuracy
  smaller_is_better: false
  max_trials: 40
  max_concurrent_trials: 0
  max_time: 1000
  time_metric: batches
  divisor: 2.5
  max_rungs: 3
  mode: aggressive
  bracket_rungs: [2, 4]
)");
  REQUIRE(config.search_config);
  const SearchConfig& search = *config.search_config;
  CHECK(search.metric == "accuracy");
  CHECK(search.time_metric == "batches");
  SearchSettings expected;
  expected.method = SearchMethod::adaptive_asha;
  expected.seed = 4'294'967'295;
  expected.smaller_is_better = false;
  expected.max_trials = 40;
  expected.max_concurrent_trials = 0;
  expected.length = 1000;
  expected.divisor = 2.5;
  expected.max_rungs = 3;
  expected.mode = AdaptiveMode::aggressive;
  expected.bracket_rungs = {2, 4};
  CHECK(search.settings == expected);
  const auto halving = read_for_planning(
      "searcher: {name: async_halving, metric: loss, max_trials: 9, num_rungs: 3, "
      "max_length: {epochs: 7}}");
  CHECK(halving.search_config->settings.num_rungs == 3);
  CHECK(halving.search_config->settings.most_at_once() == 16);
  CHECK(halving.search_config->settings.smaller_is_better);
}

TEST_CASE("the length of a trial is max_time, or that of older files") {
  const auto length_of = [](const std::string& words) {
    const auto config = read_for_planning(
        "searcher: {name: adaptive_asha, metric: loss, max_trials: 9, " + words + "}");
    return std::pair(config.search_config->settings.length, config.search_config->time_metric);
  };
  CHECK(length_of("max_time: 100, time_metric: tokens") ==
        std::pair<std::int64_t, std::string>{100, "tokens"});
  CHECK(length_of("max_time: 100, time_metric: tokens, max_length: {epochs: 7}") ==
        std::pair<std::int64_t, std::string>{100, "tokens"});
  CHECK(length_of("max_length: {epochs: 7}") == std::pair<std::int64_t, std::string>{7, "epochs"});
  CHECK(length_of("max_length: 100") == std::pair<std::int64_t, std::string>{100, ""});
}

TEST_CASE("a search that could not train or has no trial is refused") {
  CHECK(refusal("searcher: {name: adaptive_asha, metric: loss, max_trials: 9, max_length: 0}")
            .find("'searcher.max_length' is 0: no trial would train") != std::string::npos);
  CHECK(refusal("searcher: {name: grid, metric: loss}")
            .find("a grid search without 'hyperparameters' has no trial") != std::string::npos);
}

TEST_CASE("max_slots below one trial is refused") {
  CHECK(read_for_planning("resources: {slots_per_trial: 4, max_slots: 4}").search.most_slots == 4);
  CHECK(refusal("resources: {slots_per_trial: 4, max_slots: 3}")
            .find("'max_slots' is 3, but one trial takes 4 slots") != std::string::npos);
}

TEST_CASE("a search may be written in Tune's words, at the top or in a tune_config") {
  const char* const words = R"(
num_samples: 3
max_concurrent_trials: 2
metric: accuracy
mode: max
time_budget_s: 90.5
scheduler: {type: asha, max_t: 16, grace_period: 2, reduction_factor: 3, brackets: 2}
)";
  std::string inside = "tune_config:\n";
  for (const char* at = words; *at != '\0'; ++at) {
    inside += *at;
    if (*at == '\n' && at[1] != '\0') inside += "  ";
  }
  const std::string space =
      "\nparam_space: {lr: {uniform: [0, 1]}, g: {grid_search: [1, 2]}, k: 3}";
  const auto config = read_for_planning(words + space);
  REQUIRE(config.search_config);
  const SearchConfig& search = *config.search_config;
  SearchSettings expected;
  expected.method = SearchMethod::tune;
  expected.smaller_is_better = false;
  expected.num_samples = 3;
  expected.max_concurrent_trials = 2;
  expected.tune_asha = TuneAshaSettings{16, 2, 3, 2};
  CHECK(search.settings == expected);
  CHECK(search.metric == "accuracy");
  CHECK(search.time_metric == "training_iteration");
  CHECK(search.time_budget == std::chrono::milliseconds(90'500));
  CHECK(search.space.size() == 3);
  CHECK(config.search.trials == 6);
  CHECK(config.search.most_at_once == 2);
  CHECK(config.searcher == "tune");
  CHECK(config.searched == std::vector<std::string>{"param_space.lr", "param_space.g"});
  const auto other = read_for_planning(inside + space);
  CHECK(other.search_config == config.search_config);
  CHECK(other.search == config.search);
}

TEST_CASE("Tune's defaults: one sample, no limit, nothing is stopped, a CPU for each trial") {
  const auto config = read_for_planning("param_space: {lr: {uniform: [0, 1]}}");
  REQUIRE(config.search_config);
  CHECK(config.search.trials == 1);
  CHECK_FALSE(config.search.most_at_once);
  CHECK_FALSE(config.search_config->settings.tune_asha);
  CHECK_FALSE(config.search_config->time_budget);
  CHECK(config.workers == 1);
  CHECK(config.slots.is_zero());
  CHECK(config.needs.cpus == Quantity::of(1));
  const auto asha = read_for_planning("metric: loss\nmode: min\nscheduler: {type: asha}");
  CHECK(asha.search_config->settings.tune_asha == TuneAshaSettings{});
}

TEST_CASE("words of two searches do not go together") {
  CHECK(refusal("searcher: {name: random, metric: loss, max_trials: 3}\nnum_samples: 3")
            .find("'num_samples' is a word of Ray Tune's, and 'searcher' on line 1 one of "
                  "Determined's") != std::string::npos);
  CHECK(refusal("param_space: {a: 1}\nhyperparameters: {a: 1}")
            .find("'param_space' and 'hyperparameters' are two names for the same") !=
        std::string::npos);
  CHECK(refusal("metric: loss").find("'metric' needs 'mode'") != std::string::npos);
  CHECK(refusal("mode: min").find("'mode' needs 'metric'") != std::string::npos);
  CHECK(refusal("scheduler: {type: asha}").find("needs 'metric' and 'mode'") != std::string::npos);
  CHECK(refusal("metric: loss\nmode: min\nscheduler: {type: asha, max_t: 2, grace_period: 3}")
            .find("'max_t' must be at least 'grace_period'") != std::string::npos);
  CHECK(refusal("scheduler: {type: fifo, max_t: 2}")
            .find("'max_t' does not go with 'scheduler.type: fifo'") != std::string::npos);
}
