// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include "launcher/placement/placement.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/builders.hpp"

using namespace train;

namespace {

Plan searching_plan(const SearchConfig& search) {
  ExperimentConfig experiment = slot_experiment(2);
  experiment.search_config = search;
  experiment.searcher = to_string(search.settings.method);
  experiment.search.trials = search.settings.max_trials;
  const auto plan = make_plan(experiment, gpu_inventory({2}));
  REQUIRE(plan);
  return *plan;
}

SearchConfig asha() {
  SearchConfig search;
  search.settings.method = SearchMethod::adaptive_asha;
  search.settings.length = 1000;
  search.settings.max_trials = 100;
  search.settings.seed = 42;
  search.time_metric = "batches";
  search.space = {{"lr", {parameter::Range{-4, -1, 10, {}}}},
                  {"depth", {parameter::Constant{"3"}}}};
  return search;
}

std::string lines_of(const Plan& plan) {
  std::string text;
  for (const PlanLine& line : search_lines(plan)) text += line.what + ": " + line.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("a plan says what a search will do") {
  const Plan plan = searching_plan(asha());
  const std::string text = lines_of(plan);
  CHECK(text.starts_with(
      "search: adaptive_asha, 100 trials: 53 train 15 batches, 30 62, 13 250, 4 1000\n"
      "bracket 0: 70 trials, 6 at once, compared at 15, 62, 250 and 1000 batches\n"
      "bracket 1: 22 trials, 5 at once, compared at 62, 250 and 1000 batches\n"
      "bracket 2: 8 trials, 5 at once, compared at 250 and 1000 batches\n"
      "trial 0: lr 0.001329\n"));
  CHECK(plan.experiment.hyperparameters_json == plan.search->first[0].sample.hyperparameters_json);
  CHECK(lines_of(*make_plan(slot_experiment(2), gpu_inventory({2}))).empty());
}

TEST_CASE("a plan says what a search takes where time is known") {
  CHECK(lines_of(searching_plan(asha())).find("slot-hours") == std::string::npos);
  SearchConfig search = asha();
  search.time_metric = "seconds";  // 53 x 15 + 30 x 62 + 13 x 250 + 4 x 1000, on two slots
  CHECK(lines_of(searching_plan(search)).find("\ntakes: about 5.503 slot-hours\n") !=
        std::string::npos);
  search.time_metric = "hours";
  search.time_budget = std::chrono::minutes(90);
  Plan plan = searching_plan(search);
  REQUIRE(plan.trials);
  CHECK(plan.trials->at_once == 1);
  CHECK(lines_of(plan).find("\ntakes: at most 3 slot-hours\n") != std::string::npos);
  CHECK(search_json(plan)["slot_hours"] == 3.0);
  plan.experiment.max_runtime = std::chrono::minutes(30);
  CHECK(lines_of(plan).find("\ntakes: at most 1 slot-hours\n") != std::string::npos);
}

TEST_CASE("brackets of Tune's that no training reaches are not compared") {
  SearchConfig search;
  search.settings.method = SearchMethod::tune;
  search.settings.num_samples = 3;
  search.settings.tune_asha = TuneAshaSettings{.max_t = 4, .brackets = 3};
  CHECK(lines_of(searching_plan(search)).find("at once, not compared\n") != std::string::npos);
}

TEST_CASE("a search that makes no sense is refused with the reason") {
  SearchConfig search = asha();
  search.settings.method = SearchMethod::grid;
  ExperimentConfig experiment = slot_experiment(2);
  experiment.search_config = search;
  const auto plan = make_plan(experiment, gpu_inventory({2}));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().reasons.front() == "'hyperparameters.lr' has no 'count'");
}
