// SPDX-License-Identifier: Apache-2.0
#include "cli/story/live_trials.hpp"

#include "config_schema/experiment/experiment_config.hpp"
#include "launcher/hyperparameters/search_space.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

using namespace train;

namespace {

SearchConfig random_search(int at_once) {
  const auto experiment = parse_experiment(
      {"x.yaml",
       "entrypoint: 'true'\nhyperparameters: {x: {type: categorical, vals: [5]}}\n"
       "searcher: {name: random, metric: loss, max_trials: 9, max_concurrent_trials: " +
           std::to_string(at_once) + "}\n"},
      {}, ReadFor::planning);
  return *experiment->search_config;
}

// A search whose trials do what they are told, and its table.
class Shown {
 public:
  explicit Shown(int at_once)
      : config_(random_search(at_once)),
        search_(*Search::make(SearchSpace(config_.space), config_.settings)),
        table_(terminal_, timers_, config_, search_) {
    happened(search_event::Start{});
  }
  void begin(int trial) { table_.begun(trial, {"node01"}, 1'000); }
  void report(int trial, double step, double loss) {
    happened(search_event::Reported{trial, step, loss});
    table_.reported(trial, fmt::format(R"({{"loss": {}, "step": {}}})", loss, step));
  }
  void end(int trial, TrialEnd how = TrialEnd::by_itself) {
    happened(search_event::Over{trial, how});
    table_.ended(trial, 3'000);
  }
  std::vector<std::string> rows(std::size_t most = 8) const { return table_.rows(61'000, most); }

 private:
  void happened(const SearchEvent& event) {
    for (const SearchAction& action : search_.on(event))
      if (const auto* made = std::get_if<search_action::Make>(&action))
        table_.made(made->trial, made->hyperparameters_json);
  }
  simulation::VirtualTime time_;
  simulation::FakeTimers timers_{time_};
  Terminal terminal_{[] {}};
  SearchConfig config_;
  Search search_;
  LiveTrials table_;
};

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("trials that run are in the table, with what they have reported") {
  Shown shown(3);
  shown.begin(0);
  shown.begin(1);
  shown.report(1, 4, 0.5);
  shown.report(1, 5, 0.75);
  CHECK(shown.rows() == Rows{"TRIAL  STATE    HOSTS   LASTED  STEP  BEST loss  x",
                             "1 *    running  node01  1m00s   5     0.5        5",
                             "0      running  node01  1m00s   -     -          5",
                             "2      running  -       -       -     -          5",
                             "3 trials: 3 running"});
}

TEST_CASE("the best trial stays in the table when it has ended, and others go") {
  Shown shown(2);
  shown.begin(0);
  shown.begin(1);
  shown.report(0, 1, 0.5);
  shown.report(1, 1, 0.75);
  shown.end(0);
  shown.begin(2);
  shown.end(1, TrialEnd::failed);
  CHECK(shown.rows() == Rows{"TRIAL  STATE      HOSTS   LASTED  STEP  BEST loss  x",
                             "0 *    succeeded  node01  2.0s    1     0.5        5",
                             "2      running    node01  1m00s   -     -          5",
                             "3      running    -       -       -     -          5",
                             "4 trials: 2 running, 1 succeeded, 1 failed"});
  shown.report(2, 1, 0.25);
  shown.begin(3);
  shown.end(3);
  const Rows rows = shown.rows();
  CHECK(rows[1].starts_with("2 *"));
  CHECK(std::none_of(rows.begin(), rows.end(),
                     [](const std::string& row) { return row.starts_with("0 "); }));
}

TEST_CASE("the table has no more rows than there is room for, and counts all trials") {
  Shown shown(9);
  for (int trial = 0; trial < 6; ++trial) shown.begin(trial);
  shown.report(4, 1, 0.5);
  const Rows rows = shown.rows(5);
  REQUIRE(rows.size() == 5);
  CHECK(rows[1].starts_with("4 *"));
  CHECK(rows[2].starts_with("0 "));
  CHECK(rows[3].starts_with("1 "));
  CHECK(rows[4] == "9 trials: 9 running");
  CHECK(shown.rows(2).empty());
}
