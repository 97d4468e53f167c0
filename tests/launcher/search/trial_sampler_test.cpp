// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_sampler.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/launcher/search/space_text.hpp"

using namespace train;
using namespace train::testing;
using nlohmann::json;

namespace {

// Of the first vectors.
const char* const mixed_space =
    R"({"act": {"type": "categorical", "vals": ["relu", "tanh", "gelu"]}, "depth": 3,
        "drop": {"type": "double", "minval": 0.1, "maxval": 0.5},
        "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
        "units": {"type": "int", "minval": 8, "maxval": 64}})";

SearchSettings settings_of(SearchMethod method, std::int64_t trials, std::uint32_t seed) {
  SearchSettings settings;
  settings.method = method;
  settings.max_trials = trials;
  settings.seed = seed;
  return settings;
}

TrialSampler sampler_of(const SearchSpace& space, const SearchSettings& settings) {
  auto sampler = TrialSampler::of(space, settings);
  REQUIRE(sampler);
  return *sampler;
}

TrialSampler tune_sampler(const char* text, int samples) {
  SearchSettings settings = settings_of(SearchMethod::tune, 1, 42);
  settings.num_samples = samples;
  return sampler_of(tune_space(text), settings);
}

}  // namespace

TEST_CASE("random trials are Determined's") {
  struct Expected {
    const char* act;
    double drop;
    double lr;
    int units;
    std::uint32_t seed;
  };
  TrialSampler sampler =
      sampler_of(determined_space(mixed_space), settings_of(SearchMethod::random, 3, 42));
  for (const Expected& expected :
       {Expected{"gelu", 0.4186171947440932, 3.55062142707e-4, 15, 669991378},
        Expected{"gelu", 0.12323344486727979, 3.96760507705e-2, 43, 242285876},
        Expected{"tanh", 0.3887995089067299, 6.54121052769e-2, 9, 1306710475}}) {
    const TrialSample sample = sampler.next();
    const json values = json::parse(sample.hyperparameters_json);
    CHECK(values["act"] == expected.act);
    CHECK(values["depth"] == 3);
    CHECK(values["drop"] == expected.drop);
    CHECK(std::abs(values["lr"].get<double>() / expected.lr - 1) < 1e-11);  // digits of the vector
    CHECK(values["units"] == expected.units);
    CHECK(sample.seed == expected.seed);
  }
  CHECK(sampler.taken() == 3);
}

TEST_CASE("the identity that Determined gives a trial is drawn after its hyperparameters") {
  const auto space = determined_space(mixed_space);
  SearchRandom random(42);
  space.draw(random);
  std::string id;
  for (const std::uint8_t byte : draw_request_id(random)) id += fmt::format("{:02x}", byte);
  CHECK(id == "bcae4199142c4b98a6d6f02779182272");
}

TEST_CASE("a grid is taken from the end of its list, and draws seeds only") {
  TrialSampler sampler =
      sampler_of(determined_space(R"({"a": {"type": "int", "minval": 0, "maxval": 10, "count": 4},
                                      "b": {"type": "categorical", "vals": ["x", "y"]}})"),
                 settings_of(SearchMethod::grid, 1, 5));
  REQUIRE(sampler.trials() == 8);
  std::string order;
  SearchRandom expected(5);
  for (int i = 0; i < 8; ++i) {
    const TrialSample sample = sampler.next();
    const json values = json::parse(sample.hyperparameters_json);
    order += fmt::format("({},{}) ", values["a"].get<int>(), values["b"].get<std::string>());
    draw_request_id(expected);
    CHECK(sample.seed == expected.whole(INT32_MAX));
  }
  CHECK(order == "(10,y) (10,x) (7,y) (7,x) (3,y) (3,x) (0,y) (0,x) ");
  CHECK(sampler.random() == expected);
}

TEST_CASE("Tune's trials go through its grid sample by sample") {
  TrialSampler sampler = tune_sampler(
      R"({"b": {"grid_search": [1, 2]}, "a": {"grid_search": ["x", "y"]},
          "lr": {"loguniform": [1e-4, 1e-1]}, "n": {"randint": [0, 10]}})",
      2);
  CHECK(sampler.trials() == 8);
  std::string trials;
  for (int i = 0; i < 5; ++i) {
    const TrialSample sample = sampler.next();
    const json values = json::parse(sample.hyperparameters_json);
    if (i == 0) CHECK(std::abs(values["lr"].get<double>() / 1.32929189432e-3 - 1) < 1e-11);
    trials += fmt::format("({},{},{},{}) ", values["a"].get<std::string>(), values["b"].get<int>(),
                          values["n"].get<int>(), sample.seed);
  }
  CHECK(trials ==
        "(x,1,7,669991378) (y,1,7,648061058) (x,2,1,3344769) (y,2,4,30349564) (x,1,0,200427519) ");
}

TEST_CASE("Tune's choices, steps and normal numbers") {
  TrialSampler sampler = tune_sampler(
      R"({"c": {"choice": ["p", "q", "r"]}, "q": {"quniform": [1, 3, 0.25]},
          "y": {"normal": [0, 1]}, "z": {"normal": [5, 2]}})",
      1);
  const TrialSample sample = sampler.next();
  const json values = json::parse(sample.hyperparameters_json);
  CHECK(values["c"] == "r");
  CHECK(values["q"] == 2.5);
  CHECK(values["y"] == 0.5437431604812986);
  CHECK(values["z"] == 3.769140460803328);
  CHECK(sample.seed == 429389014);
}

TEST_CASE("several brackets of Tune are drawn after the seed, the more rungs the likelier") {
  SearchSettings settings = settings_of(SearchMethod::tune, 1, 3);
  settings.tune_asha = TuneAshaSettings{16, 1, 4, 3};  // 3, 2 and 1 rungs
  settings.num_samples = 1000;
  TrialSampler sampler = sampler_of(SearchSpace(), settings);
  SearchRandom expected(3);
  const double first = 1 / (1 + std::exp(-1.0) + std::exp(-2.0));
  std::array<int, 3> counts{};
  for (int i = 0; i < 1000; ++i) {
    const TrialSample sample = sampler.next();
    draw_request_id(expected);
    CHECK(sample.seed == expected.whole(INT32_MAX));
    const double unit = expected.unit();
    const int bracket = unit < first ? 0 : unit < first * (1 + std::exp(-1.0)) ? 1 : 2;
    CHECK(sample.tune_bracket == bracket);
    ++counts[static_cast<std::size_t>(sample.tune_bracket)];
  }
  CHECK(counts[0] > counts[1]);
  CHECK(counts[1] > counts[2]);
  CHECK(counts[2] > 0);
}

TEST_CASE("a search of more trials than can be counted is refused") {
  SearchSettings settings = settings_of(SearchMethod::tune, 1, 0);
  settings.num_samples = INT64_MAX;
  const auto space = tune_space(R"({"a": {"grid_search": [1, 2]}})");
  CHECK_FALSE(TrialSampler::of(space, settings));
  CHECK_FALSE(TrialSampler::of(SearchSpace(), settings_of(SearchMethod::grid, 1, 0)));
}

TEST_CASE("samples go on from a snapshot of the random numbers") {
  const auto space = determined_space(mixed_space);
  TrialSampler sampler = sampler_of(space, settings_of(SearchMethod::random, 9, 1));
  for (int i = 0; i < 4; ++i) sampler.next();
  TrialSampler other = sampler_of(space, settings_of(SearchMethod::random, 9, 2));
  other.resume(sampler.taken(), sampler.random());
  CHECK(other.next().hyperparameters_json == sampler.next().hyperparameters_json);
}
