// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/varied_values.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace train::parameter;

TEST_CASE("what varies is named by its path, and numbers are short") {
  const SearchGroup inner = {{"lr", {Range{0, 1, {}, {}}}}, {"fixed", {Constant{"1"}}}};
  const SearchGroup space = {{"act", {Choice{{R"("relu")", "[1]"}}}},
                             {"opt", {Group{inner}}},
                             {"units", {WholeRange{1, 99, {}}}}};
  CHECK(varied_values(space,
                      R"({"act": "relu", "opt": {"lr": 0.000123456, "fixed": 1}, "units": 64})") ==
        std::vector<VariedValue>{{"act", "relu"}, {"opt.lr", "0.0001235"}, {"units", "64"}});
  CHECK(varied_values(space, R"({"act": [1], "opt": 3})") ==
        std::vector<VariedValue>{{"act", "[1]"}});
  CHECK(varied_values(space, "no JSON").empty());
}
