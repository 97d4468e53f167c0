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

// Tune's default unit counts reports.
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

// Slot hours, if training is measured in time, or the search has a time limit.
struct SlotHours {
  double hours = 0;
  bool is_most = false;  ///< an upper bound: trials may end earlier
};

std::optional<double> hours_of_unit(const std::string& unit) {
  if (unit == "hours") return 1;
  if (unit == "minutes") return 1.0 / 60;
  if (unit == "seconds" || unit == "time_total_s" || unit == "time_s") return 1.0 / 3600;
  return std::nullopt;
}

double hours_of(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count() / 3600;
}

std::optional<SlotHours> slot_hours(const Plan& plan) {
  const double slots = static_cast<double>(plan.trial.slots.parts()) / Quantity::scale;
  std::optional<SlotHours> least;
  const auto add = [&](double hours, bool is_most) {
    if (!least || hours < least->hours) least = {hours, is_most};
  };
  if (slots <= 0 || !plan.trials) return least;
  const double at_once = slots * static_cast<double>(plan.trials->at_once);
  for (const auto& limit : {plan.search->time_budget, plan.experiment.max_runtime})
    if (limit) add(at_once * hours_of(*limit), true);
  double units = 0;
  for (const LengthCount& length : plan.search->lengths)
    units += static_cast<double>(length.units) * static_cast<double>(length.trials);
  if (const auto unit = hours_of_unit(plan.search->unit); unit && units > 0)
    add(units * *unit * slots, false);
  return least;
}

}  // namespace

std::vector<PlanLine> search_lines(const Plan& plan) {
  std::vector<PlanLine> lines;
  if (!plan.search) return lines;
  const SearchPreview& search = *plan.search;
  const bool is_plain = search.trials == 1 && !plan.trials && search.first.front().varied.empty();
  if (is_plain) return lines;
  std::string head = fmt::format("{}, {}", search.method, counted(number(search.trials), "trial"));
  if (!search.lengths.empty()) head += ": " + lengths_text(search);
  lines.push_back({"search", std::move(head)});
  if (const auto hours = slot_hours(plan))
    lines.push_back({"takes", fmt::format("{} {:.4g} slot-hours",
                                          hours->is_most ? "at most" : "about", hours->hours)});
  for (std::size_t i = 0; i < search.brackets.size(); ++i) {
    const SearchPreview::Group& bracket = search.brackets[i];
    const std::string trials =
        bracket.trials ? counted(number(*bracket.trials), "trial") + ", " : std::string();
    lines.push_back({fmt::format("bracket {}", i),
                     fmt::format("{}{} at once, {}", trials, bracket.at_once,
                                 bracket.rungs.empty()
                                     ? std::string("not compared")
                                     : fmt::format("compared at {} {}", needs_text(bracket.rungs),
                                                   unit_of(search)))});
  }
  for (std::size_t i = 0; i < search.first.size(); ++i) {
    const std::string values = varied_text(search.first[i].varied);
    if (!values.empty()) lines.push_back({fmt::format("trial {}", i), escaped(values)});
  }
  return lines;
}

nlohmann::ordered_json search_json(const Plan& plan) {
  const SearchPreview& search = *plan.search;
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
  const auto hours = slot_hours(plan);
  return {{"method", search.method},         {"unit", search.unit.empty() ? "steps" : search.unit},
          {"trials", search.trials},         {"slot_hours", hours ? Json(hours->hours) : Json()},
          {"brackets", std::move(brackets)}, {"lengths", std::move(lengths)},
          {"first", std::move(first)}};
}

}  // namespace train
