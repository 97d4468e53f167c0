// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_experiment.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("a trial has its hyperparameters, and nothing is left to choose") {
  ExperimentConfig experiment;
  experiment.name = "digits";
  experiment.searched = {"hyperparameters.lr"};
  experiment.search_config = SearchConfig();
  experiment.global_batch_size = 7;
  const ExperimentConfig trial =
      trial_experiment(experiment, {R"({"global_batch_size": 64, "lr": 0.5})", 7});
  CHECK(trial.name == "digits");
  CHECK(trial.hyperparameters_json == R"({"global_batch_size": 64, "lr": 0.5})");
  CHECK(trial.trial_seed == 7);
  CHECK(trial.searched.empty());
  CHECK_FALSE(trial.search_config);
  CHECK(trial.global_batch_size == 64);
  CHECK(trial_experiment(experiment, {R"({"lr": 0.5})"}).global_batch_size == 7);
  CHECK(trial_experiment(experiment, {R"({"global_batch_size": "x"})"}).global_batch_size == 7);
}
