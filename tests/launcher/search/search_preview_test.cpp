// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search_preview.hpp"

#include <fmt/format.h>

#include "launcher/hyperparameters/search_space.hpp"
#include "launcher/search/search.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::parameter;

namespace {

SearchConfig asha(std::int64_t length, std::int64_t trials) {
  SearchConfig config;
  config.settings.method = SearchMethod::adaptive_asha;
  config.settings.length = length;
  config.settings.max_trials = trials;
  config.space = {{"lr", {Range{-4, -1, 10, {}}}}, {"depth", {Constant{"3"}}}};
  config.time_metric = "batches";
  return config;
}

}  // namespace

TEST_CASE("a preview has the brackets, the lengths and the first trials") {
  const auto preview = preview_search(asha(1000, 100));
  REQUIRE(preview);
  CHECK(preview->method == "adaptive_asha");
  CHECK(preview->unit == "batches");
  CHECK(preview->trials == 100);
  CHECK(preview->at_once == 16);
  REQUIRE(preview->brackets.size() == 3);
  CHECK(preview->brackets[0] == SearchPreview::Group{{15, 62, 250, 1000}, 70, 6});
  CHECK(preview->brackets[2] == SearchPreview::Group{{250, 1000}, 8, 5});
  CHECK(preview->lengths == std::vector<LengthCount>{{15, 53}, {62, 30}, {250, 13}, {1000, 4}});
  CHECK(preview->first.size() == 5);
}

TEST_CASE("the first trials of a preview are those that the search makes") {
  for (const SearchMethod method : {SearchMethod::single, SearchMethod::random,
                                    SearchMethod::adaptive_asha, SearchMethod::tune}) {
    SearchConfig config = asha(100, 3);
    config.settings.method = method;
    config.settings.num_samples = 3;
    config.settings.seed = 7;
    const auto preview = preview_search(config);
    REQUIRE(preview);
    auto search = Search::make(SearchSpace(config.space), config.settings);
    REQUIRE(search);
    std::size_t made = 0;
    for (const SearchAction& action : search->on(search_event::Start{}))
      if (const auto* make = std::get_if<search_action::Make>(&action)) {
        REQUIRE(made < preview->first.size());
        CHECK(make->hyperparameters_json == preview->first[made].sample.hyperparameters_json);
        CHECK(make->seed == preview->first[made++].sample.seed);
      }
    CHECK(made == (method == SearchMethod::single ? 1 : 3));
    CHECK(static_cast<std::size_t>(preview->trials) == preview->first.size());
  }
}

TEST_CASE("Tune's brackets are counted as its trials draw them, if these are not too many") {
  SearchConfig config = asha(100, 3);
  config.settings.method = SearchMethod::tune;
  config.settings.num_samples = 500;
  config.settings.tune_asha = TuneAshaSettings{.max_t = 100, .grace_period = 2.5, .brackets = 2};
  const auto preview = preview_search(config);
  REQUIRE(preview);
  REQUIRE(preview->brackets.size() == 2);
  CHECK(preview->brackets[0].rungs == std::vector<double>{2.5, 10, 40});
  CHECK(preview->brackets[1].rungs == std::vector<double>{10, 40});
  CHECK(*preview->brackets[0].trials + *preview->brackets[1].trials == 500);
  CHECK(*preview->brackets[0].trials > *preview->brackets[1].trials);
  CHECK(preview->lengths.empty());
  config.settings.num_samples = 50'000;
  CHECK_FALSE(preview_search(config)->brackets[0].trials);
}

TEST_CASE("what cannot be searched has no preview") {
  SearchConfig grid = asha(1, 1);
  grid.settings.method = SearchMethod::grid;
  const auto preview = preview_search(grid);
  REQUIRE_FALSE(preview);
  CHECK(preview.error().diagnostics.front().message == "'hyperparameters.lr' has no 'count'");
}
