// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/tune_words.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

using namespace train;
using namespace train::parameter;
using namespace train::testing;

namespace {

SearchParameter read_word(const std::string& word) {
  Diagnostics diagnostics;
  const YamlNodePtr root = read_tree(word);
  const auto parameter = read_tune_word(root->entries.front(), "param_space.a", diagnostics);
  INFO(word);
  REQUIRE(parameter);
  CHECK_FALSE(diagnostics.has_errors());
  return *parameter;
}

std::string trouble_of_word(const std::string& word) {
  Diagnostics diagnostics;
  const YamlNodePtr root = read_tree(word);
  const auto parameter = read_tune_word(root->entries.front(), "param_space.a", diagnostics);
  INFO(word);
  REQUIRE(diagnostics.has_errors());
  return diagnostics.take_error(ErrorClass::config, "x.yaml").diagnostics.front().message;
}

}  // namespace

TEST_CASE("Tune's words become ranges, steps and lists") {
  CHECK(read_word("uniform: [0, 1.5]") == SearchParameter{Range{0, 1.5, {}, {}}});
  CHECK(read_word("loguniform: [1e-4, 1]") == SearchParameter{LogRange{std::log(1e-4), 0}});
  CHECK(read_word("quniform: [0.9, 3.2, 0.5]") == SearchParameter{StepRange{1, 3, 0.5}});
  CHECK(read_word("randint: [3, 5]") == SearchParameter{WholeRange{3, 4, {}}});
  CHECK(read_word("randint: [7, 8]") == SearchParameter{WholeRange{7, 7, {}}});
  CHECK(read_word("randint: [9223372036854775806, 9223372036854775807]") ==
        SearchParameter{WholeRange{INT64_MAX - 1, INT64_MAX - 1, {}}});
  CHECK(read_word("normal: [5, 2]") == SearchParameter{Normal{5, 2}});
  CHECK(read_word("choice: [a, {b: 1}]") == SearchParameter{Choice{{R"("a")", R"({"b": 1})"}}});
  CHECK(read_word("grid_search: [1]") == SearchParameter{GridSearch{{"1"}}});
}

TEST_CASE("what makes no sense in Tune's words is refused") {
  CHECK(trouble_of_word("uniform: [0]") ==
        "'param_space.a.uniform' must be a list of 2 numbers, not [0]");
  CHECK(trouble_of_word("uniform: 1") ==
        "'param_space.a.uniform' must be a list of 2 numbers, not the integer 1");
  CHECK(trouble_of_word("quniform: [0, 1]") ==
        "'param_space.a.quniform' must be a list of 3 numbers, not [0, 1]");
  CHECK(trouble_of_word("uniform: ['0', 1]") ==
        R"('param_space.a.uniform' must be a list of finite numbers, not ["0", 1])");
  CHECK(trouble_of_word("uniform: [0, .inf]") ==
        "'param_space.a.uniform' must be a list of finite numbers, not [0, null]");
  CHECK(trouble_of_word("uniform: [1, 0]") ==
        "'param_space.a.uniform' must end above its begin, unlike [1, 0]");
  CHECK(trouble_of_word("uniform: [-1e308, 1e308]") ==
        "'param_space.a.uniform' has values that no double can hold");
  CHECK(trouble_of_word("loguniform: [0, 1]") ==
        "'param_space.a.loguniform' has a logarithm: it must begin above 0");
  CHECK(trouble_of_word("quniform: [0, 1, 0]") ==
        "'param_space.a.quniform' must have a step above 0");
  CHECK(trouble_of_word("quniform: [0.1, 0.2, 1]") ==
        "'param_space.a.quniform' has no multiple of 1 in its range");
  CHECK(trouble_of_word("randint: [3, 3]") ==
        "'param_space.a.randint' must end above its begin, unlike [3, 3]");
  CHECK(trouble_of_word("randint: [0.5, 3]") ==
        "'param_space.a.randint' must be two whole numbers of 64 bits, not [0.5, 3]");
  CHECK(trouble_of_word("normal: [0, -1]") == "'param_space.a.normal' has a negative deviation");
  CHECK(trouble_of_word("choice: []") ==
        "'param_space.a.choice' must be a list of values, not an empty list");
  CHECK(trouble_of_word("grid_search: 3") ==
        "'param_space.a.grid_search' must be a list of values, not the integer 3");
  CHECK(trouble_of_word("choice: [.nan]") ==
        "'param_space.a.choice.0' is .nan, which JSON cannot carry to the workers");
}
