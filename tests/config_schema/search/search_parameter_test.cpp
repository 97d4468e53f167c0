// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/search_parameter.hpp"

#include <limits>

#include "tests/catch.hpp"

using namespace train;
using namespace train::parameter;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("a grid takes at most as many whole numbers as a range has") {
  CHECK(grid_values({WholeRange{1, 3, 8}}) == 3);
  CHECK(grid_values({WholeRange{1, 30, 8}}) == 8);
  CHECK(grid_values({WholeRange{lowest, highest, highest}}) == highest);
  CHECK(grid_values({WholeRange{0, highest, highest}}) == highest);
  CHECK_FALSE(grid_values({WholeRange{1, 3, {}}}));
  CHECK(grid_values({Range{0, 1, {}, 10}}) == 10);
  CHECK_FALSE(grid_values({Range{0, 1, {}, {}}}));
  CHECK(grid_values({Choice{{"1", "2"}}}) == 2);
  CHECK(grid_values({Constant{"7"}}) == 1);
  CHECK_FALSE(grid_values({Normal{0, 1}}));
}

TEST_CASE("points of a grid are multiplied, groups in place") {
  const SearchGroup inner = {{"x", {Choice{{"1", "2", "3"}}}}, {"y", {Constant{"4"}}}};
  const SearchGroup group = {{"a", {WholeRange{0, 4, 5}}}, {"g", {Group{inner}}}};
  CHECK(grid_points(group) == 15);
  CHECK(grid_points({}) == 1);
  const SearchParameter huge = {Range{0, 1, {}, highest}};
  CHECK(grid_points({{"a", huge}}) == highest);
  CHECK_FALSE(grid_points({{"a", huge}, {"b", {Choice{{"1", "2"}}}}}));
  CHECK_FALSE(grid_points({{"a", huge}, {"g", {Group{{{"b", {Choice{{"1", "2"}}}}}}}}}));
}

TEST_CASE("Tune's grid has the lists of grid_search alone") {
  const SearchGroup group = {{"a", {GridSearch{{"1", "2"}}}},
                             {"b", {Choice{{"1", "2", "3"}}}},
                             {"g", {Group{{{"c", {GridSearch{{"1", "2", "3"}}}}}}}}};
  CHECK(tune_points(group) == 6);
  CHECK(tune_points({}) == 1);
}

TEST_CASE("only what is drawn is drawn") {
  CHECK(SearchParameter{Choice{{"1"}}}.is_drawn());
  CHECK(SearchParameter{Normal{}}.is_drawn());
  CHECK_FALSE(SearchParameter{Constant{"1"}}.is_drawn());
  CHECK_FALSE(SearchParameter{GridSearch{{"1"}}}.is_drawn());
  CHECK_FALSE(SearchParameter{Group{}}.is_drawn());
}
