// SPDX-License-Identifier: Apache-2.0
// Searches in Ray Tune's words.
#include "launcher/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/search/search_player.hpp"

using namespace train;

namespace {

SearchSettings tune(std::int64_t samples, std::int64_t limit) {
  SearchSettings settings;
  settings.method = SearchMethod::tune;
  settings.num_samples = samples;
  settings.max_concurrent_trials = limit;
  return settings;
}

}  // namespace

TEST_CASE("Tune's ASHA decides at the highest new rung of a step") {
  SearchSettings settings = tune(9, 0);
  settings.smaller_is_better = false;
  settings.tune_asha = TuneAshaSettings{16, 1, 4, 1};
  SearchPlayer player(settings);
  player.start();
  CHECK(player.report(0, 1, .5) == "c0");
  CHECK(player.report(1, 1, .7) == "c0");
  CHECK(player.report(2, 1, .6) == "s0");
  CHECK(player.report(3, 1, .66) == "c0");
  CHECK(player.report(1, 4, .8) == "c1");
  CHECK(player.report(3, 5, .7) == "s1");
  CHECK(player.report(4, 6, .9) == "c1");
  CHECK(player.report(4, 7, .1) == "s0");
  CHECK(player.report(1, 16, .2) == "stop");
  CHECK(player.search().state(1) == TrialState::succeeded);
  CHECK(player.search().state(3) == TrialState::stopped);
}

TEST_CASE("Tune's smaller metrics are the better ones in mode min") {
  SearchSettings settings = tune(9, 0);
  settings.tune_asha = TuneAshaSettings{16, 1, 4, 1};
  SearchPlayer player(settings);
  player.start();
  CHECK(player.report(0, 1, .5) == "c0");
  CHECK(player.report(1, 1, .7) == "s0");
  CHECK(player.report(2, 1, .4) == "c0");
}

TEST_CASE("Tune's trials are known at the start, and none is replaced") {
  SearchPlayer player(tune(2, 0), R"({"a": {"grid_search": [1, 2]}})");
  CHECK(player.start() == "+0 +1 +2 +3");
  CHECK(player.over(0, TrialEnd::invalid) == "invalid");
  CHECK(player.over(1, TrialEnd::failed) == "failed");
  CHECK(player.on(search_event::Killed{2}) == "failed stop2");
  CHECK(player.over(3, TrialEnd::by_itself) == "ended done");
  SearchPlayer limited(tune(2, 3), R"({"a": {"grid_search": [1, 2]}})");
  CHECK(limited.start() == "+0 +1 +2");
  CHECK(limited.over(1, TrialEnd::invalid) == "invalid +3");
  CHECK(limited.made(3) == R"({"a": 2})");
}

TEST_CASE("the metrics of an invalid trial leave Tune's rungs") {
  SearchSettings settings = tune(9, 0);
  settings.tune_asha = TuneAshaSettings{16, 1, 4, 1};
  SearchPlayer player(settings);
  player.start();
  player.report(0, 1, .5);
  player.report(0, 4, .4);
  player.over(0, TrialEnd::invalid);
  CHECK(player.search().recorded(0, 0).empty());
  CHECK(player.search().recorded(0, 1).empty());
}
