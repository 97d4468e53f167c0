// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search_decision.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/launcher/search/infinity.hpp"

using namespace train;
using nlohmann::json;

TEST_CASE("a decision is one object of JSON") {
  CHECK(
      json_of(SearchDecision{3, SearchVerdict::go_on, 1, 10, 0.5}) ==
      json::parse(R"({"trial": 3, "decision": "continue", "rung": 1, "step": 10, "metric": 0.5})"));
  CHECK(json_of(SearchDecision{3, SearchVerdict::ended}) ==
        json::parse(
            R"({"trial": 3, "decision": "ended", "rung": null, "step": null, "metric": null})"));
}

TEST_CASE("decisions come back from JSON as they were") {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  for (const double metric : {0.1, -3.0, infinity, -infinity, nan_value})
    for (const SearchVerdict verdict : {SearchVerdict::go_on, SearchVerdict::stop}) {
      for (const std::optional<int> rung : {std::optional<int>(), std::optional<int>(2)}) {
        const SearchDecision decision{7, verdict, rung, 2.5, metric};
        CHECK(decision_of_json(json::parse(json_of(decision).dump())) == decision);
      }
    }
  for (const SearchVerdict verdict :
       {SearchVerdict::ended, SearchVerdict::failed, SearchVerdict::invalid})
    CHECK(decision_of_json(json_of(SearchDecision{7, verdict})) == SearchDecision{7, verdict});
}

TEST_CASE("what is no decision is refused") {
  const json good = json_of(SearchDecision{3, SearchVerdict::go_on, 1, 10, 0.5});
  CHECK_FALSE(decision_of_json(json()));
  for (const char* name : {"trial", "decision", "step", "rung", "metric"}) {
    json without = good;
    without.erase(name);
    CHECK_FALSE(decision_of_json(without));
    json other = good;
    other[name] = "x";
    CHECK_FALSE(decision_of_json(other));
  }
}
