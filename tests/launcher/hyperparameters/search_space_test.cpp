// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/search_space.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.hpp"
#include "tests/launcher/search/space_text.hpp"

using namespace train;
using namespace train::testing;
using nlohmann::json;

namespace {

SearchSpace determined(const std::string& text) { return determined_space(text); }
SearchSpace tune(const std::string& text) { return tune_space(text); }

json drawn(const SearchSpace& space, SearchRandom& random, std::int64_t tune_point = 0) {
  return json::parse(space.draw(random, tune_point));
}

json grid(const char* text) {
  const SearchSpace space = determined(text);
  const auto points = space.grid_points();
  REQUIRE(points);
  json all = json::array();
  for (std::int64_t i = 0; i < *points; ++i) all.push_back(json::parse(space.grid_point(i)));
  return all;
}

// The values of an int axis from low to high.
json int_axis(int low, int high, int count) {
  json values = json::array();
  const json axis = {{"a", {{"type", "int"}, {"minval", low}, {"maxval", high}, {"count", count}}}};
  for (const json& point : grid(axis.dump().c_str())) values.push_back(point["a"]);
  return values;
}

}  // namespace

TEST_CASE("plain values draw nothing") {
  const SearchSpace space = determined(
      R"({"depth": 3, "list": [1, {"type": "int"}], "c": {"type": "const", "val": {"type": "int"}},
          "group": {"x": null, "y": "text"}})");
  SearchRandom random(1);
  CHECK(drawn(space, random) == json::parse(R"({"depth": 3, "list": [1, {"type": "int"}],
                                 "c": {"type": "int"}, "group": {"x": null, "y": "text"}})"));
  CHECK(random == SearchRandom(1));
  CHECK_FALSE(space.has_draws());
}

TEST_CASE("hyperparameters are drawn by name in byte order, groups in place") {
  const SearchSpace space = determined(
      R"({"act": {"type": "double", "minval": 0, "maxval": 1},
          "_u": {"z": {"type": "double", "minval": 0, "maxval": 1},
                 "A": {"type": "double", "minval": 0, "maxval": 1}},
          "Zed": {"type": "double", "minval": 0, "maxval": 1}})");
  SearchRandom random(9);
  SearchRandom expected(9);
  const json sample = drawn(space, random);
  CHECK(sample["Zed"] == expected.unit());
  CHECK(sample["_u"]["A"] == expected.unit());
  CHECK(sample["_u"]["z"] == expected.unit());
  CHECK(sample["act"] == expected.unit());
  CHECK(space.has_draws());
}

TEST_CASE("a range may have all whole numbers of 64 bits") {
  const SearchSpace space = determined(
      R"({"a": {"type": "int", "minval": -9223372036854775808, "maxval": 9223372036854775807}})");
  SearchRandom random(2);
  SearchRandom words(2);
  const std::uint64_t high = words.word();
  const std::uint64_t both = (high << 32) | words.word();
  CHECK(drawn(space, random)["a"] == static_cast<std::int64_t>(both + (std::uint64_t{1} << 63)));
}

TEST_CASE("the last axis of a grid varies fastest") {
  CHECK(grid(R"({"a": {"type": "int", "minval": 0, "maxval": 10, "count": 4},
                 "b": {"type": "categorical", "vals": ["x", "y"]}})") ==
        json::parse(R"([{"a": 0, "b": "x"}, {"a": 0, "b": "y"}, {"a": 3, "b": "x"},
                        {"a": 3, "b": "y"}, {"a": 7, "b": "x"}, {"a": 7, "b": "y"},
                        {"a": 10, "b": "x"}, {"a": 10, "b": "y"}])"));
}

TEST_CASE("values of an int axis are rounded, halves away from zero") {
  CHECK(int_axis(0, 3, 3) == json({0, 2, 3}));
  CHECK(int_axis(-3, 0, 3) == json({-3, -2, 0}));
  CHECK(int_axis(0, 5, 1) == json::array({3}));
  CHECK(int_axis(-5, 0, 1) == json::array({-3}));
  CHECK(int_axis(1, 3, 9) == json({1, 2, 3}));
}

TEST_CASE("axes of a grid may be real, logarithmic, nested and plain") {
  CHECK(grid(R"({"a": {"b": {"type": "double", "minval": 1, "maxval": 2, "count": 3}, "c": 7},
                 "d": {"type": "log", "base": 10, "minval": -2, "maxval": 0, "count": 2}})") ==
        json::parse(R"([{"a": {"b": 1.0, "c": 7}, "d": 0.01}, {"a": {"b": 1.0, "c": 7}, "d": 1.0},
                        {"a": {"b": 1.5, "c": 7}, "d": 0.01}, {"a": {"b": 1.5, "c": 7}, "d": 1.0},
                        {"a": {"b": 2.0, "c": 7}, "d": 0.01}, {"a": {"b": 2.0, "c": 7}, "d": 1.0}])"));
  CHECK(grid(R"({"a": {"type": "double", "minval": 1, "maxval": 2, "count": 1}})")[0]["a"] == 1.5);
  CHECK(
      grid(R"({"a": {"type": "log", "base": 10, "minval": 1, "maxval": 3, "count": 1}})")[0]["a"] ==
      100.0);
  CHECK(grid(R"({"only": 1})") == json::parse(R"([{"only": 1}])"));
}

TEST_CASE("a grid without points, or without counts, or with too many points is refused") {
  CHECK_FALSE(SearchSpace().grid_points());
  CHECK_FALSE(determined(R"({"group": {}})").grid_points());
  const auto uncounted =
      determined(R"({"a": {"b": {"type": "int", "minval": 0, "maxval": 9}}})").grid_points();
  REQUIRE_FALSE(uncounted);
  CHECK(uncounted.error().diagnostics[0].message == "'hyperparameters.a.b' has no 'count'");
  json axes;
  for (const char* name : {"a", "b", "c", "d"})
    axes[name] = {{"type", "double"}, {"minval", 0}, {"maxval", 1}, {"count", 100'000}};
  CHECK_FALSE(determined(axes.dump()).grid_points());
}

TEST_CASE("points of a huge grid are made one by one") {
  json axes;
  for (const char* name : {"a", "b", "c"})
    axes[name] = {{"type", "int"}, {"minval", 0}, {"maxval", 999'999}, {"count", 1'000'000}};
  const SearchSpace space = determined(axes.dump());
  CHECK(space.grid_points() == 1'000'000'000'000'000'000);
  CHECK(json::parse(space.grid_point(123'456'000'007'999'999)) ==
        json({{"a", 123'456}, {"b", 7}, {"c", 999'999}}));
}

TEST_CASE("an int axis at the ends of 64 bits stays inside of them") {
  const json point = grid(
      R"({"a": {"type": "int", "minval": 9223372036854775806, "maxval": 9223372036854775807,
                "count": 5}})");
  CHECK(point == json::parse(R"([{"a": 9223372036854775806}, {"a": 9223372036854775807}])"));
}

TEST_CASE("the first name of Tune's grid varies fastest, and its paths are sorted by parts") {
  const SearchSpace space = tune(
      R"({"b": {"grid_search": [1, 2]}, "a": {"x": {"grid_search": ["p", "q", "r"]}, "y": 0}})");
  CHECK(space.tune_points() == 6);
  SearchRandom random(1);
  std::string order;
  for (std::int64_t point = 0; point < 6; ++point) {
    const json sample = drawn(space, random, point);
    order += sample["a"]["x"].get<std::string>() + sample["b"].dump() + ' ';
  }
  CHECK(order == "p1 q1 r1 p2 q2 r2 ");
  CHECK_FALSE(space.has_draws());
  CHECK(random == SearchRandom(1));
}

TEST_CASE("quniform has multiples inside its range only") {
  const SearchSpace space = tune(R"({"q": {"quniform": [0.9, 3.2, 0.5]}})");
  SearchRandom random(4);
  std::set<double> seen;
  for (int i = 0; i < 300; ++i) seen.insert(drawn(space, random)["q"].get<double>());
  CHECK(seen == std::set<double>{1.0, 1.5, 2.0, 2.5, 3.0});
}

TEST_CASE("randint leaves its end out") {
  const SearchSpace space = tune(R"({"n": {"randint": [3, 5]}, "one": {"randint": [7, 8]}})");
  SearchRandom random(4);
  std::set<int> seen;
  for (int i = 0; i < 100; ++i) {
    const json sample = drawn(space, random);
    seen.insert(sample["n"].get<int>());
    CHECK(sample["one"] == 7);
  }
  CHECK(seen == std::set<int>{3, 4});
}

TEST_CASE("Tune's words are words only in Tune's spaces, and Determined's kinds in both") {
  SearchRandom random(1);
  const SearchSpace space = tune(R"({"u": {"uniform": [0, 1]}, "t": {"type": "adam"}})");
  CHECK(drawn(space, random)["t"] == json({{"type", "adam"}}));
  CHECK(drawn(determined(R"({"u": {"uniform": [0, 1]}})"), random)["u"]["uniform"] == json({0, 1}));
  const json sample = drawn(tune(R"({"i": {"type": "int", "minval": 4, "maxval": 5},
                                     "two": {"uniform": [0, 1], "choice": []}})"),
                            random);
  CHECK(sample["i"].is_number_integer());
  CHECK(sample["two"].size() == 2);
}
