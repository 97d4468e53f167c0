// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/trial_report.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "launcher/search/metric_value.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/search/infinity.hpp"

using namespace train;
using nlohmann::json;

namespace {

TrialReport read(const char* text, const std::string& time_metric = "", std::int64_t count = 1) {
  return read_trial_report(json::parse(text), {"loss", time_metric}, count);
}

}  // namespace

TEST_CASE("a step is found under the time metric, or under step") {
  CHECK(read(R"({"loss": 1, "epochs": 3, "step": 9})", "epochs").step == 3.0);
  CHECK(read(R"({"loss": 1, "step": 9})", "epochs").step == 9.0);
  CHECK_FALSE(read(R"({"loss": 1, "batches": 9})", "epochs").step);
}

TEST_CASE("without a time metric a report is counted in step, batches, or reports") {
  CHECK(read(R"({"loss": 1, "step": 9, "batches": 100})").step == 9.0);
  CHECK(read(R"({"loss": 1, "batches": 100})").step == 100.0);
  CHECK(read(R"({"loss": 1})", "", 4).step == 4.0);
  CHECK(read(R"({"loss": 1, "step": "9"})", "", 4).step == 4.0);
  CHECK(read(R"({"loss": 1, "step": null, "batches": 2.5})").step == 2.5);
}

TEST_CASE("a report without metric or step decides nothing") {
  CHECK(read(R"({"loss": 1})").decides());
  CHECK_FALSE(read(R"({"accuracy": 1})").decides());
  CHECK_FALSE(read(R"({"loss": true})").decides());
  CHECK_FALSE(read(R"({"loss": "low"})").decides());
  CHECK_FALSE(read(R"({"loss": 1})", "epochs").decides());
  CHECK_FALSE(read(R"({"loss": 1, "epochs": "NaN"})", "epochs").decides());
  CHECK_FALSE(read("[1]").decides());
}

TEST_CASE("metrics may be NaN and infinite") {
  CHECK(std::isnan(read(R"({"loss": null})").metric.value()));
  CHECK(std::isnan(read(R"({"loss": "NaN"})").metric.value()));
  CHECK(read(R"({"loss": "Infinity"})").metric == infinity);
  CHECK(read(R"({"loss": "-Infinity"})").metric == -infinity);
  CHECK(json_of_metric(std::nan("")).is_null());
  CHECK(json_of_metric(infinity) == "Infinity");
  CHECK(json_of_metric(-infinity) == "-Infinity");
  CHECK(json_of_metric(0.1) == 0.1);
}

TEST_CASE("a report may say that the hyperparameters make no sense") {
  CHECK(read(R"({"invalid_hp": true})").says_invalid);
  CHECK_FALSE(read(R"({"invalid_hp": false})").says_invalid);
  CHECK_FALSE(read(R"({"invalid_hp": 1})").says_invalid);
  CHECK_FALSE(read(R"({"loss": 1})").says_invalid);
}
