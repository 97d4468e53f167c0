// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/brackets.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"

using namespace train;

namespace {

SearchSettings adaptive(std::int64_t length, std::int64_t trials) {
  SearchSettings settings;
  settings.method = SearchMethod::adaptive_asha;
  settings.length = length;
  settings.max_trials = trials;
  return settings;
}

// (rungs, trials, at once)
std::string text_of(const std::vector<Bracket>& brackets) {
  std::string text;
  for (const Bracket& bracket : brackets)
    text += fmt::format("({},{},{}) ", bracket.rungs.size(), bracket.trials, bracket.at_once);
  return text;
}

int rungs_for(std::int64_t length, double divisor) {
  SearchSettings settings = adaptive(length, length);
  settings.divisor = divisor;
  settings.max_rungs = 9;
  return most_adaptive_rungs(settings);
}

using Units = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("rungs need the length divided by powers of the divisor") {
  CHECK(rung_needs(4, 4, 1000) == Units{15, 62, 250, 1000});
  CHECK(rung_needs(5, 4, 100) == Units{1, 1, 6, 25, 100});
  CHECK(rung_needs(3, 1.5, 10) == Units{4, 6, 10});
  CHECK(rung_needs(3, 2.5, 100) == Units{16, 40, 100});
  CHECK(rung_needs(1000, 4, 5).front() == 1);
}

TEST_CASE("adaptive brackets share trials and room") {
  SearchSettings settings = adaptive(1000, 100);
  CHECK(text_of(brackets_of(settings)) == "(4,70,6) (3,22,5) (2,8,5) ");
  settings.mode = AdaptiveMode::conservative;
  CHECK(text_of(brackets_of(settings)) == "(4,67,4) (3,21,4) (2,8,4) (1,4,4) ");
  settings.mode = AdaptiveMode::aggressive;
  CHECK(text_of(brackets_of(settings)) == "(4,100,16) ");
}

TEST_CASE("the number of rungs is what Go's logarithm says") {
  CHECK(rungs_for(243, 3) == 6);
  CHECK(rungs_for(1000, 10) == 3);
}

TEST_CASE("adaptive brackets without a limit, and with rungs of their own") {
  SearchSettings settings = adaptive(16, 16);
  settings.max_concurrent_trials = 0;
  CHECK(text_of(brackets_of(settings)) == "(3,12,4) (2,4,4) ");
  settings = adaptive(100, 8);
  settings.bracket_rungs = {2, 4, 1};
  settings.max_concurrent_trials = 2;
  CHECK(text_of(brackets_of(settings)) == "(4,6,1) (2,1,1) (1,1,1) ");
}

TEST_CASE("more trials than max_trials are possible") {
  SearchSettings settings = adaptive(100, 1);
  settings.bracket_rungs = {3, 2, 1};
  CHECK(text_of(brackets_of(settings)) == "(3,1,6) (2,1,5) (1,1,5) ");
}

TEST_CASE("weights that no double can hold leave a trial to each bracket") {
  SearchSettings settings = adaptive(100, 10);
  settings.bracket_rungs = {1000, 900, 1};
  CHECK(text_of(brackets_of(settings)) == "(1000,8,6) (900,1,5) (1,1,5) ");
}

TEST_CASE("async_halving has one bracket") {
  SearchSettings settings = adaptive(1000, 100);
  settings.method = SearchMethod::async_halving;
  settings.num_rungs = 3;
  CHECK(text_of(brackets_of(settings)) == "(3,100,16) ");
  settings.max_concurrent_trials = 0;
  settings.divisor = 2.5;
  CHECK(text_of(brackets_of(settings)) == "(3,100,6) ");
  settings.max_trials = 5;
  CHECK(text_of(brackets_of(settings)) == "(3,5,5) ");
  settings.method = SearchMethod::random;
  CHECK(brackets_of(settings).empty());
}

TEST_CASE("a preview says how many trials train how long") {
  SearchSettings settings = adaptive(1000, 100);
  CHECK(lengths_of(brackets_of(settings), settings.divisor) ==
        std::vector<LengthCount>{{15, 53}, {62, 30}, {250, 13}, {1000, 4}});
  settings = adaptive(900, 10);
  settings.divisor = 3;
  settings.max_rungs = 10;
  CHECK(lengths_of(brackets_of(settings), settings.divisor) ==
        std::vector<LengthCount>{{100, 5}, {300, 3}, {900, 2}});
}

TEST_CASE("settings that make no sense are refused") {
  CHECK(check_settings(adaptive(1000, 100)));
  const auto is_refused = [](const auto& change) {
    SearchSettings settings = adaptive(1000, 100);
    change(settings);
    return !check_settings(settings);
  };
  using Settings = SearchSettings;
  CHECK(is_refused([](Settings& s) { s.max_trials = 0; }));
  CHECK(is_refused([](Settings& s) { s.max_concurrent_trials = -1; }));
  CHECK(is_refused([](Settings& s) { s.length = 0; }));
  CHECK(is_refused([](Settings& s) { s.divisor = 1; }));
  CHECK(is_refused([](Settings& s) { s.max_rungs = 0; }));
  CHECK(is_refused([](Settings& s) { s.max_rungs = 1001; }));
  CHECK(is_refused([](Settings& s) { s.bracket_rungs = {3, 0}; }));
  CHECK(is_refused([](Settings& s) { s.method = SearchMethod::async_halving; }));
  const auto is_refused_by_tune = [](const auto& change) {
    SearchSettings settings;
    settings.method = SearchMethod::tune;
    settings.tune_asha.emplace();
    change(settings);
    return !check_settings(settings);
  };
  CHECK_FALSE(is_refused_by_tune([](Settings&) {}));
  CHECK(is_refused_by_tune([](Settings& s) { s.num_samples = 0; }));
  CHECK(is_refused_by_tune([](Settings& s) { s.tune_asha->grace_period = 0; }));
  CHECK(is_refused_by_tune([](Settings& s) { s.tune_asha->max_t = 0.5; }));
  CHECK(is_refused_by_tune([](Settings& s) { s.tune_asha->reduction_factor = 1; }));
  CHECK(is_refused_by_tune([](Settings& s) { s.tune_asha->reduction_factor = 1.01; }));
  CHECK(is_refused_by_tune([](Settings& s) { s.tune_asha->brackets = 0; }));
}
