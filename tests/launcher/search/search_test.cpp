// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/launcher/search/search_player.hpp"

using namespace train;
using nlohmann::json;

namespace {

SearchSettings halving(int rungs, double divisor, std::int64_t length, std::int64_t trials,
                       std::int64_t limit) {
  SearchSettings settings;
  settings.method = SearchMethod::async_halving;
  settings.num_rungs = rungs;
  settings.divisor = divisor;
  settings.length = length;
  settings.max_trials = trials;
  settings.max_concurrent_trials = limit;
  return settings;
}

SearchSettings plain(SearchMethod method, std::int64_t trials, std::int64_t limit) {
  SearchSettings settings;
  settings.method = method;
  settings.max_trials = trials;
  settings.num_samples = trials;
  settings.max_concurrent_trials = limit;
  return settings;
}

const char* const drawn_space = R"({"x": {"type": "double", "minval": 0, "maxval": 1}})";

}  // namespace

TEST_CASE("halving continues, stops, and makes a trial for each that it stops") {
  SearchPlayer player(halving(3, 3, 9, 6, 3));
  CHECK(player.start() == "+0 +1 +2");
  CHECK(player.report(0, 1, .5) == "c0");
  CHECK(player.report(1, 1, .4) == "c0");
  CHECK(player.report(2, 1, .6) == "s0 +3");
  CHECK(player.report(3, 1, .45) == "s0 +4");
  CHECK(player.report(4, 1, .3) == "c0");
  CHECK(player.report(0, 3, .35) == "c1");
  CHECK(player.report(1, 9, .2) == "c1 s2 +5");
  CHECK(player.report(5, 1, .41) == "s0");
  CHECK(player.report(5, 3, .1).empty());
  CHECK(player.search().state(1) == TrialState::succeeded);
  CHECK(player.search().state(2) == TrialState::stopped);
}

TEST_CASE("failed, ended and invalid trials make room for others") {
  SearchPlayer player(halving(2, 2, 4, 5, 2));
  player.start();
  CHECK(player.report(0, 2, .5) == "c0");
  CHECK(player.over(1, TrialEnd::failed) == "failed +2");
  CHECK(player.report(2, 2, .6) == "s0 +3");
  CHECK(player.over(0, TrialEnd::by_itself) == "ended +4");
  CHECK(player.report(3, 2, .4) == "c0");
  CHECK(player.over(3, TrialEnd::invalid) == "invalid +5");
  CHECK(player.report(4, 2, .55) == "c0");
  CHECK(player.report(5, 2, .45) == "c0");
  CHECK(player.search().recorded(0, 0) ==
        std::vector<double>{.45, .5, .55, .6, std::numeric_limits<double>::max()});
}

TEST_CASE("nothing of a trial counts after the decision to stop it") {
  SearchPlayer player(halving(2, 2, 4, 6, 2), SearchPlayer::Ends::stay);
  player.start();
  CHECK(player.report(0, 2, .5) == "c0");
  CHECK(player.report(1, 2, .7) == "s0 +2");
  CHECK(player.report(1, 4, .1).empty());
  CHECK(player.over(1, TrialEnd::failed).empty());
  CHECK(player.report(0, 4, .3) == "s1 +3");
  CHECK(player.report(2, 2, .2) == "c0");
  CHECK(player.search().best(1)->metric == .7);
}

TEST_CASE("a greater metric is the better one where the settings say so") {
  SearchSettings settings = halving(2, 2, 4, 9, 2);
  settings.smaller_is_better = false;
  SearchPlayer player(settings);
  player.start();
  CHECK(player.report(0, 2, .5) == "c0");
  CHECK(player.report(1, 2, .4) == "s0 +2");
  CHECK(player.report(2, 2, std::nan("")) == "s0 +3");
  CHECK(player.over(3, TrialEnd::failed) == "failed +4");
  CHECK(player.search().recorded(0, 0)[2] == std::numeric_limits<double>::max());
  CHECK(player.search().best() == BestReport{0, 2, .5});
}

TEST_CASE("a trial is made at the decision and runs when the stopped one is gone") {
  SearchPlayer player(halving(2, 2, 4, 9, 2), SearchPlayer::Ends::stay);
  player.start();
  player.report(0, 2, .5);
  player.report(1, 2, .7);
  Search& search = player.search();
  CHECK(search.state(1) == TrialState::stopping);
  CHECK(search.state(2) == TrialState::waiting);
  CHECK(player.report(2, 2, .1).empty());  // it does not run
  CHECK(player.on(search_event::Over{1}) == "run2");
  CHECK(search.state(1) == TrialState::stopped);
  CHECK(search.state(2) == TrialState::running);
}

TEST_CASE(
    "trials of adaptive brackets are made bracket by bracket, later ones where there is room") {
  SearchSettings settings;
  settings.method = SearchMethod::adaptive_asha;
  settings.length = 1000;
  settings.max_trials = 100;
  SearchPlayer player(settings);
  player.start();
  Search& search = player.search();
  CHECK(search.trials() == 16);
  CHECK(search.bracket(5) == 0);
  CHECK(search.bracket(6) == 1);
  CHECK(search.bracket(11) == 2);
  CHECK(player.report(12, 250, 1) == "c0");
  CHECK(player.report(13, 250, 2) == "s0 +16");
  CHECK(search.bracket(16) == 2);
  CHECK(player.over(7, TrialEnd::by_itself) == "ended +17");
  CHECK(search.bracket(17) == 1);
}

TEST_CASE("a user may kill trials that run and trials that wait") {
  SearchPlayer player(halving(2, 2, 4, 5, 2), SearchPlayer::Ends::stay);
  player.start();
  CHECK(player.on(search_event::Killed{0}) == "failed +2 stop0");
  CHECK(player.on(search_event::Killed{2}) == "failed +3");
  CHECK(player.on(search_event::Killed{2}).empty());
  CHECK(player.on(search_event::Killed{0}).empty());
  CHECK(player.search().state(2) == TrialState::killed);
  CHECK(player.on(search_event::Over{0, TrialEnd::by_itself}) == "run3");
  CHECK(player.search().state(0) == TrialState::killed);
  CHECK(player.search().recorded(0, 0).size() == 2);
}

TEST_CASE("one that counts as failed was killed, where that is known") {
  SearchPlayer player(halving(2, 2, 4, 5, 2));
  player.start();
  player.over(0, TrialEnd::failed);
  auto search =
      Search::resumed(SearchSpace(), halving(2, 2, 4, 5, 2), player.search().decisions(), {1});
  REQUIRE(search);
  REQUIRE(search->state(0) == TrialState::failed);
  for (const std::int64_t trial : {-1, 0, 1, 99}) search->note_killed(trial);
  CHECK(search->state(0) == TrialState::killed);
  CHECK(search->state(1) == TrialState::running);
  CHECK(search->count(TrialState::failed) == 0);
  CHECK(search->count(TrialState::killed) == 1);
}

TEST_CASE("a report that hyperparameters are invalid stops and replaces its trial") {
  SearchPlayer player(halving(2, 2, 4, 2, 2), SearchPlayer::Ends::stay);
  player.start();
  player.report(0, 2, .5);
  CHECK(player.on(search_event::SaidInvalid{0}) == "invalid +2 stop0");
  CHECK(player.on(search_event::Over{0, TrialEnd::by_itself}) == "run2");
  CHECK(player.search().state(0) == TrialState::invalid);
  CHECK(player.search().recorded(0, 0).empty());
  CHECK_FALSE(player.search().best());
}

TEST_CASE("a search of which everything is invalid ends") {
  for (const bool is_any_valid : {false, true}) {
    SearchPlayer player(plain(SearchMethod::random, 3, 1), drawn_space);
    player.start();
    if (is_any_valid) player.over(0, TrialEnd::by_itself);
    std::int64_t trial = is_any_valid ? 1 : 0;
    while (trial < 300 && trial < player.search().trials()) player.over(trial++, TrialEnd::invalid);
    CHECK(trial == (is_any_valid ? 300 : 99 + 3));
    CHECK(player.search().is_done() == !is_any_valid);
  }
}

TEST_CASE("random makes the next trial at every end, and one more for each invalid one") {
  SearchPlayer player(plain(SearchMethod::random, 4, 2), drawn_space);
  CHECK(player.start() == "+0 +1");
  CHECK(player.report(0, 1000, 5).empty());
  CHECK(player.over(0, TrialEnd::by_itself) == "ended +2");
  CHECK(player.over(1, TrialEnd::invalid) == "invalid +3");
  CHECK(player.over(3, TrialEnd::failed) == "failed +4");
  CHECK(player.over(2, TrialEnd::by_itself) == "ended");
  CHECK_FALSE(player.search().is_done());
  CHECK(player.over(4, TrialEnd::by_itself) == "ended done");
  CHECK(player.search().is_done());
  CHECK(player.search().count(TrialState::succeeded) == 3);
}

TEST_CASE("without a limit random makes all trials at once, but for very many") {
  SearchPlayer player(plain(SearchMethod::random, 50, 0), drawn_space);
  player.start();
  CHECK(player.search().trials() == 50);
  CHECK(player.search().count(TrialState::running) == 50);
  SearchPlayer many(plain(SearchMethod::random, 1'000'000'000, 0), drawn_space);
  many.start();
  CHECK(many.search().trials() == Search::most_without_limit);
}

TEST_CASE("a grid takes its points in order and replaces no invalid trial") {
  SearchPlayer player(plain(SearchMethod::grid, 1, 2),
                      R"({"a": {"type": "int", "minval": 1, "maxval": 4, "count": 4}})");
  CHECK(player.start() == "+0 +1");
  CHECK(player.over(1, TrialEnd::invalid) == "invalid +2");
  CHECK(player.over(0, TrialEnd::by_itself) == "ended +3");
  CHECK(player.over(2, TrialEnd::by_itself) == "ended");
  CHECK(player.over(3, TrialEnd::failed) == "failed done");
  CHECK(player.made(0) == R"({"a": 4})");
  CHECK(player.made(3) == R"({"a": 1})");
}

TEST_CASE("single is one trial, whose ranges are drawn") {
  SearchPlayer player(plain(SearchMethod::single, 77, 16), drawn_space);
  CHECK(player.start() == "+0");
  CHECK(player.over(0, TrialEnd::invalid) == "invalid +1");
  CHECK(player.over(1, TrialEnd::by_itself) == "ended done");
  SearchPlayer constant(plain(SearchMethod::single, 1, 16), R"({"x": 1})");
  constant.start();
  CHECK(constant.over(0, TrialEnd::invalid) == "invalid done");
}

TEST_CASE("a search that is cut short stops what runs and makes nothing more") {
  SearchPlayer player(halving(2, 2, 4, 9, 2), SearchPlayer::Ends::stay);
  player.start();
  player.report(0, 2, .5);
  player.report(1, 2, .7);
  CHECK(player.on(search_event::CutShort{}) == "stop0");
  CHECK(player.search().state(2) == TrialState::stopped);
  CHECK(player.report(0, 4, .1).empty());
  CHECK(player.on(search_event::Over{0, TrialEnd::failed}).empty());
  CHECK(player.on(search_event::Over{1, TrialEnd::by_itself}) == "done");
  CHECK(player.search().count(TrialState::stopped) == 3);
  SearchPlayer unborn(halving(2, 2, 4, 9, 2));
  CHECK(unborn.on(search_event::CutShort{}) == "done");
  CHECK(unborn.start().empty());
}

TEST_CASE("the best report is the earliest best one, without NaN") {
  SearchPlayer player(plain(SearchMethod::random, 3, 3), drawn_space);
  player.start();
  CHECK_FALSE(player.search().best());
  player.report(0, 1, std::nan(""));
  CHECK_FALSE(player.search().best());
  player.report(1, 1, .5);
  player.report(1, 2, .5);
  player.report(1, 3, .9);
  player.report(2, 8, .5);
  CHECK(player.search().best() == BestReport{1, 1, .5});
  CHECK(player.search().best(2) == BestReport{2, 8, .5});
  player.report(2, 9, -std::numeric_limits<double>::infinity());
  CHECK(player.search().best()->trial == 2);
  player.over(2, TrialEnd::invalid);
  CHECK(player.search().best()->trial == 1);
}

TEST_CASE("events that cannot be change nothing") {
  SearchPlayer player(halving(2, 2, 4, 5, 2));
  CHECK(player.report(0, 2, .5).empty());
  player.start();
  const json before = player.search().snapshot();
  CHECK(player.start().empty());
  for (const std::int64_t trial : {-1, 2, 99}) {
    CHECK(player.report(trial, 2, .5).empty());
    CHECK(player.on(search_event::Killed{trial}).empty());
    CHECK(player.on(search_event::SaidInvalid{trial}).empty());
    CHECK(player.on(search_event::Over{trial}).empty());
  }
  CHECK(player.report(0, std::nan(""), .5).empty());
  CHECK(player.report(0, HUGE_VAL, .5).empty());
  CHECK(player.search().snapshot() == before);
}

TEST_CASE("a search of too many trials at once is refused") {
  CHECK_FALSE(Search::make(SearchSpace(), halving(20, 4, 1000, 1'000'000'000, 0)));
  CHECK_FALSE(Search::make(SearchSpace(), plain(SearchMethod::grid, 1, 1)));
  CHECK_FALSE(Search::make(SearchSpace(), halving(0, 4, 1000, 10, 0)));
}

TEST_CASE("a damaged snapshot and other decisions are refused") {
  const SearchSettings settings = halving(2, 2, 4, 5, 2);
  SearchPlayer player(settings);
  player.start();
  player.report(0, 2, .5);
  player.report(1, 2, .7);
  const json whole = player.search().snapshot();
  REQUIRE(Search::restored(SearchSpace(), settings, whole));
  CHECK_FALSE(Search::restored(SearchSpace(), settings, json()));
  for (const auto& [name, value] : whole.items()) {
    json without = whole;
    without.erase(name);
    CHECK_FALSE(Search::restored(SearchSpace(), settings, without));
    for (const json& wrong : {json(), json("x"), json({{1}}), json({-7}), json(-7)}) {
      json other = whole;
      other[name] = wrong;
      CHECK_FALSE(Search::restored(SearchSpace(), settings, other));
    }
  }
  json far = whole;
  far["trials"][0][2] = 1;
  CHECK_FALSE(Search::restored(SearchSpace(), settings, far));
  auto decisions = player.search().decisions();
  REQUIRE(Search::replayed(SearchSpace(), settings, decisions));
  decisions[1].rung = 1;
  CHECK_FALSE(Search::replayed(SearchSpace(), settings, decisions));
  decisions[1] = {44, SearchVerdict::ended};
  CHECK_FALSE(Search::replayed(SearchSpace(), settings, decisions));
}

TEST_CASE("states of trials change as their table says") {
  const auto& table = trial_states();
  CHECK(table.allows(TrialState::waiting, TrialState::running));
  CHECK(table.allows(TrialState::stopping, TrialState::succeeded));
  CHECK_FALSE(table.allows(TrialState::stopping, TrialState::failed));
  CHECK(table.rows().size() == trial_state_count);
}
