// SPDX-License-Identifier: Apache-2.0
// What becomes of hyperparameters. What is said of wrong ones is in the golden cases.
#include "config_schema/search/hyperparameters.hpp"

#include "config_schema/yaml/yaml_writer.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"
#include "tests/config_schema/search/space_reading.hpp"

using namespace train;
using namespace train::parameter;
using namespace train::testing;

namespace {

Hyperparameters read(const std::string& yaml, bool is_tune = false) {
  return read_space_text(yaml, is_tune);
}

std::string trouble(const std::string& yaml) {
  Diagnostics diagnostics;
  const YamlNodePtr root = read_tree(yaml);
  read_hyperparameters(*root, diagnostics);
  if (!diagnostics.has_errors()) return "";
  return diagnostics.take_error(ErrorClass::config, "x.yaml").diagnostics.front().message;
}

}  // namespace

TEST_CASE("each kind of hyperparameter is read as what it is") {
  const Hyperparameters all = read(R"(
plain: 1.50
list: [1, {type: int}]
const: {type: const, val: {type: int}}
whole: {type: int, minval: -1, maxval: 8, count: 3}
real: {type: double, minval: 0, maxval: 1}
log: {type: log, base: 10, minval: -4, maxval: -1, count: 4}
choice: {type: categorical, vals: [relu, 1, null]}
group: {inner: {type: categorical, vals: [2]}, empty: {}}
)");
  const SearchGroup expected = {
      {"plain", {Constant{"1.5"}}},
      {"list", {Constant{R"([1, {"type": "int"}])"}}},
      {"const", {Constant{R"({"type": "int"})"}}},
      {"whole", {WholeRange{-1, 8, 3}}},
      {"real", {Range{0, 1, {}, {}}}},
      {"log", {Range{-4, -1, 10, 4}}},
      {"choice", {Choice{{R"("relu")", "1", "null"}}}},
      {"group", {Group{{{"inner", {Choice{{"2"}}}}, {"empty", {Group{}}}}}}}};
  CHECK(all.space == expected);
  CHECK(json_text(*all.plain) ==
        R"({"plain": 1.5, "list": [1, {"type": "int"}], "const": {"type": "int"}, )"
        R"("group": {"empty": {}}})");
  std::string searched;
  for (const SearchedParameter& each : all.searched) searched += each.path + ' ' + each.type + ", ";
  CHECK(searched ==
        "hyperparameters.whole int, hyperparameters.real double, hyperparameters.log log, "
        "hyperparameters.choice categorical, hyperparameters.group.inner categorical, ");
  std::string uncounted;
  for (const SearchedParameter& each : all.uncounted) uncounted += each.path + ' ';
  CHECK(uncounted == "hyperparameters.list[1] hyperparameters.real ");
}

TEST_CASE("Tune's words stand beside Determined's kinds and plain values") {
  const Hyperparameters all = read(R"(
u: {uniform: [0, 1]}
kind: {type: int, minval: 1, maxval: 2}
adam: {type: adam}
two: {uniform: [0, 1], choice: []}
group: {g: {grid_search: [x, y]}}
)",
                                   true);
  const SearchGroup expected = {
      {"u", {Range{0, 1, {}, {}}}},
      {"kind", {WholeRange{1, 2, {}}}},
      {"adam", {Group{{{"type", {Constant{R"("adam")"}}}}}}},
      {"two", {Group{{{"uniform", {Constant{"[0, 1]"}}}, {"choice", {Constant{"[]"}}}}}}},
      {"group", {Group{{{"g", {GridSearch{{R"("x")", R"("y")"}}}}}}}}};
  CHECK(all.space == expected);
  REQUIRE(all.searched.size() == 3);
  CHECK(all.searched[2].path == "param_space.group.g");
  CHECK(all.searched[2].type == "grid_search");
}

TEST_CASE("Tune's words are names in Determined's") {
  const SearchGroup inner = {{"uniform", {Constant{"[0, 1]"}}}};
  CHECK(read("u: {uniform: [0, 1]}").space == SearchGroup{{"u", {Group{inner}}}});
}

TEST_CASE("a range has all whole numbers of 64 bits, and no more") {
  CHECK(read("{a: {type: int, minval: -9223372036854775808, maxval: 9223372036854775807}}").space ==
        SearchGroup{{"a", {WholeRange{INT64_MIN, INT64_MAX, {}}}}});
  CHECK(read("{a: {type: int, minval: 9223372036854775806, maxval: 9223372036854775807}}").space ==
        SearchGroup{{"a", {WholeRange{INT64_MAX - 1, INT64_MAX, {}}}}});
  CHECK_FALSE(trouble("{a: {type: int, minval: 0, maxval: 9223372036854775808}}").empty());
}

TEST_CASE("what no double can hold is refused") {
  const std::string told = "'hyperparameters.a' has values that no double can hold";
  CHECK(trouble("{a: {type: double, minval: -1e308, maxval: 1e308}}") == told);
  CHECK(trouble("{a: {type: log, base: 10, minval: 0, maxval: 400}}") == told);
  CHECK(trouble("{a: {type: log, base: 0.1, minval: -400, maxval: 0}}") == told);
  CHECK(trouble("{a: {type: categorical, vals: [1, .nan]}}") ==
        "'hyperparameters.a.vals.1' is .nan, which JSON cannot carry to the workers");
}
