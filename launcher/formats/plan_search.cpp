// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/search/metric_value.hpp"

namespace train {

namespace {

using Json = nlohmann::ordered_json;

// What Tune counts by default is nothing but reports.
std::string unit_of(const SearchPreview& search) {
  if (search.unit == "training_iteration") return "reports";
  return search.unit.empty() ? "steps" : escaped(search.unit);
}

std::string number(std::int64_t count) { return fmt::format("{}", count); }

// "15, 62, 250 and 1000"
std::string needs_text(const std::vector<double>& rungs) {
  std::vector<std::string> needs;
  needs.reserve(rungs.size());
  for (const double need : rungs) needs.push_back(fmt::format("{}", need));
  return join_words(needs, "and");
}

// "53 train 15 batches, 30 train 62, 17 train 250"
std::string lengths_text(const SearchPreview& search) {
  std::string text;
  for (const LengthCount& length : search.lengths)
    text += text.empty()
                ? fmt::format("{} train {} {}", length.trials, length.units, unit_of(search))
                : fmt::format(", {} {}", length.trials, length.units);
  return text;
}

}  // namespace

std::vector<PlanLine> search_lines(const Plan& plan) {
  std::vector<PlanLine> lines;
  if (!plan.search) return lines;
  const SearchPreview& search = *plan.search;
  const bool is_plain = search.trials == 1 && search.first.front().varied.empty();
  if (is_plain) return lines;
  std::string head = fmt::format("{}, {}", search.method, counted(number(search.trials), "trial"));
  if (!search.lengths.empty()) head += ": " + lengths_text(search);
  lines.push_back({"search", std::move(head)});
  for (std::size_t i = 0; i < search.brackets.size(); ++i) {
    const SearchPreview::Group& bracket = search.brackets[i];
    const std::string trials =
        bracket.trials ? counted(number(*bracket.trials), "trial") + ", " : std::string();
    lines.push_back({fmt::format("bracket {}", i),
                     fmt::format("{}{} at once, compared at {} {}", trials, bracket.at_once,
                                 needs_text(bracket.rungs), unit_of(search))});
  }
  for (std::size_t i = 0; i < search.first.size(); ++i) {
    const std::string values = varied_text(search.first[i].varied);
    if (!values.empty()) lines.push_back({fmt::format("trial {}", i), escaped(values)});
  }
  return lines;
}

nlohmann::ordered_json json_of(const SearchPreview& search) {
  Json brackets = Json::array();
  for (const SearchPreview::Group& bracket : search.brackets) {
    Json rungs = Json::array();
    for (const double need : bracket.rungs) rungs.push_back(Json(json_of_step(need)));
    brackets.push_back({{"rungs", std::move(rungs)},
                        {"trials", bracket.trials ? Json(*bracket.trials) : Json()},
                        {"at_once", bracket.at_once}});
  }
  Json lengths = Json::array();
  for (const LengthCount& length : search.lengths)
    lengths.push_back({{"trials", length.trials}, {"units", length.units}});
  Json first = Json::array();
  for (std::size_t i = 0; i < search.first.size(); ++i)
    first.push_back({{"trial", i},
                     {"seed", search.first[i].sample.seed},
                     {"hyperparameters",
                      Json::parse(search.first[i].sample.hyperparameters_json, nullptr, false)}});
  return {{"method", search.method},       {"unit", search.unit.empty() ? "steps" : search.unit},
          {"trials", search.trials},       {"brackets", std::move(brackets)},
          {"lengths", std::move(lengths)}, {"first", std::move(first)}};
}

}  // namespace train
