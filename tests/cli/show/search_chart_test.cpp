// SPDX-License-Identifier: Apache-2.0
#include "cli/show/search_chart.hpp"

#include <limits>

#include "config_schema/experiment/experiment_config.hpp"
#include "tests/catch.hpp"
#include "tests/cli/some_task.hpp"

using namespace train;

namespace {

SearchConfig random_search() {
  const auto experiment = parse_experiment(
      {"x.yaml",
       "entrypoint: 'true'\nhyperparameters: {x: {type: double, minval: 0, maxval: 1}}\n"
       "searcher: {name: random, metric: loss, max_trials: 9}\n"},
      {}, ReadFor::planning);
  return *experiment->search_config;
}

TrialRecord trial_of(std::int64_t number, TrialState state,
                     const std::vector<ChartPoint>& reported) {
  TrialRecord trial{.trial = number, .state = state, .hyperparameters_json = R"({"x": 0.5})"};
  for (const ChartPoint& point : reported) {
    trial.reports.push_back({point.step, point.metric, "{}"});
    if (!trial.best || point.metric < trial.best->metric)
      trial.best = BestReport{number, point.step, point.metric};
  }
  return trial;
}

std::vector<std::string> names_of(const MetricChart& chart) {
  std::vector<std::string> names;
  for (const ChartLine& line : chart.lines) names.push_back(line.name);
  return names;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a chart has the best trial first, then those that run, then the better ones") {
  using enum TrialState;
  SearchRecord search{random_search(), {}, {}};
  search.config.time_metric = "batches";
  search.trials = {trial_of(0, stopped, {{1, 0.9}}), trial_of(1, running, {{1, 0.8}}),
                   trial_of(2, succeeded, {{1, 0.6}, {2, 0.1}}), trial_of(3, failed, {{1, 0.5}}),
                   trial_of(4, waiting, {})};
  const auto chart = chart_of(some_task(), search);
  REQUIRE(chart);
  CHECK(names_of(*chart) == std::vector<std::string>{"trial 2", "trial 1", "trial 3", "trial 0"});
  CHECK(chart->best == ChartPoint{2, 0.1});
  CHECK(chart->lines[0].points == std::vector<ChartPoint>{{1, 0.6}, {2, 0.1}});
  CHECK(chart->lines[0].remark == "succeeded, best loss 0.1 at step 2 of 2 reports: x 0.5");
  CHECK(chart->lines[1].kind == LineKind::running);
  CHECK(chart->lines[2].kind == LineKind::failed);
  CHECK(chart->step_name == "batches");
  CHECK(chart->metric_name == "loss");
  CHECK(chart->caption.title == "digits: loss of 5 trials");
  CHECK(chart->caption.subtitle ==
        "best: trial 2, loss 0.1 at step 2: x 0.5; "
        "1 of the trials have reported nothing to draw");
}

TEST_CASE("what no axis has a place for is not drawn") {
  using enum TrialState;
  SearchRecord search{random_search(), {}, {}};
  search.trials = {trial_of(0, succeeded, {{1, infinity}, {2, 0.5}, {3, not_a_number}}),
                   trial_of(1, succeeded, {{1, -infinity}})};
  search.trials[0].reports.push_back({{}, 0, R"({"note": "no metric"})"});
  const auto chart = chart_of(some_task(), search);
  REQUIRE(chart);
  REQUIRE(chart->lines.size() == 1);
  CHECK(chart->lines[0].points == std::vector<ChartPoint>{{2, 0.5}});
  CHECK_FALSE(chart->best);  // that is trial 1
  CHECK(chart->step_name == "step");
}

TEST_CASE("the metric of an invalid trial is drawn, and is not the best") {
  using enum TrialState;
  SearchRecord search{random_search(), {}, {}};
  search.trials = {trial_of(0, invalid, {{1, 0.1}})};
  const auto chart = chart_of(some_task(), search);
  REQUIRE(chart);
  CHECK(chart->lines.size() == 1);
  CHECK_FALSE(chart->best);
}

TEST_CASE("a search of which nobody has reported has no chart") {
  SearchRecord search{random_search(), {}, {}};
  search.trials = {trial_of(0, TrialState::running, {})};
  const auto chart = chart_of(some_task(), search);
  REQUIRE_FALSE(chart);
  CHECK(chart.error().error_class == ErrorClass::no_input);
  CHECK(chart.error().diagnostics.front().message ==
        "no trial of task abcd2345 has reported 'loss'");
}
