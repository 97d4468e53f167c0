// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search_decision.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "config_schema/search/search_settings.hpp"
#include "launcher/search/metric_value.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr SearchVerdict all_verdicts[] = {SearchVerdict::go_on, SearchVerdict::stop,
                                          SearchVerdict::ended, SearchVerdict::failed,
                                          SearchVerdict::invalid};

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Nothing if it is not a decision.
std::optional<SearchDecision> read(const json& value) {
  for (const char* name : {"trial", "decision", "step", "rung", "metric"})
    if (!value.is_object() || !value.contains(name)) return std::nullopt;
  const json& trial = value["trial"];
  const json& step = value["step"];
  const json& rung = value["rung"];
  SearchDecision decision;
  if (!trial.is_number_integer()) return std::nullopt;
  decision.trial = trial.get<std::int64_t>();
  bool is_known = false;
  for (const SearchVerdict verdict : all_verdicts)
    if (value["decision"] == to_string(verdict)) {
      decision.verdict = verdict;
      is_known = true;
    }
  if (!is_known) return std::nullopt;
  if (decision.is_end()) return decision;
  const auto metric = metric_of_json(value["metric"]);
  if (!step.is_number() || !metric) return std::nullopt;
  decision.step = step.get<double>();
  decision.metric = *metric;
  if (rung.is_null()) return decision;
  if (!rung.is_number_integer() || rung < 0 || rung >= most_rungs_or_brackets) return std::nullopt;
  decision.rung = rung.get<int>();
  return decision;
}

}  // namespace

std::string_view to_string(SearchVerdict verdict) {
  switch (verdict) {
    case SearchVerdict::go_on:
      return "continue";
    case SearchVerdict::stop:
      return "stop";
    case SearchVerdict::ended:
      return "ended";
    case SearchVerdict::failed:
      return "failed";
    case SearchVerdict::invalid:
      return "invalid";
  }
  return "";
}

bool operator==(const SearchDecision& a, const SearchDecision& b) {
  return a.trial == b.trial && a.verdict == b.verdict && a.rung == b.rung &&
         is_same(a.step, b.step) && is_same(a.metric, b.metric);
}

std::string describe(const SearchDecision& decision) {
  std::string text = fmt::format("trial {} ", decision.trial);
  switch (decision.verdict) {
    case SearchVerdict::ended:
      return text + "has ended by itself";
    case SearchVerdict::failed:
      return text + "has failed";
    case SearchVerdict::invalid:
      return text + "has hyperparameters that make no sense";
    case SearchVerdict::go_on:
      text += "goes on";
      break;
    case SearchVerdict::stop:
      text += "is to stop";
      break;
  }
  if (decision.rung) text += fmt::format(" at rung {}", *decision.rung);
  return text + fmt::format(", with {} at step {}", decision.metric, decision.step);
}

json json_of(const SearchDecision& decision) {
  const bool is_end = decision.is_end();
  return {{"trial", decision.trial},
          {"decision", to_string(decision.verdict)},
          {"step", is_end ? json() : json_of_step(decision.step)},
          {"rung", decision.rung ? json(*decision.rung) : json()},
          {"metric", is_end ? json() : json_of_metric(decision.metric)}};
}

Result<SearchDecision> decision_of_json(const json& value) {
  const auto decision = read(value);
  if (!decision) return fail(ErrorClass::no_input, "a decision of the search is damaged");
  return *decision;
}

}  // namespace train
