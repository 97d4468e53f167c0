// SPDX-License-Identifier: Apache-2.0
// Converts a search to JSON, and restores a search from its decisions.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "launcher/search/metric_value.hpp"
#include "launcher/search/search.hpp"

namespace train {

using nlohmann::json;

namespace {

tl::unexpected<Error> damaged(const std::string& what) {
  return fail(ErrorClass::no_input, fmt::format("the state of the search is damaged: {}", what));
}

json json_of_all(const std::vector<double>& metrics) {
  json list = json::array();
  for (const double metric : metrics) list.push_back(json_of_metric(metric));
  return list;
}

bool is_list(const json& value, std::size_t size) {
  return value.is_array() && value.size() == size;
}

// Whether the value is a whole number from 0 to below the limit.
bool is_below(const json& value, std::uint64_t limit) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() < limit;
  return value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
         static_cast<std::uint64_t>(value.get<std::int64_t>()) < limit;
}

}  // namespace

json Search::snapshot() const {
  json made = json::array();
  for (const Pool& pool : pools_) made.push_back(pool.made);
  json trials = json::array();
  for (const Trial& trial : trials_) {
    json fields = {static_cast<int>(trial.state), static_cast<int>(trial.after_stop), trial.bracket,
                   trial.entered};
    if (trial.has_best) {
      fields.push_back(trial.best_step);
      fields.push_back(json_of_metric(trial.best_metric));
    }
    trials.push_back(std::move(fields));
  }
  json decisions = json::array();
  for (const LinkedDecision& each : decisions_) decisions.push_back(json_of(each.decision));
  json brackets = json::array();
  for (const Rungs& bracket : brackets_) {
    json rungs = json::array();
    std::visit(
        [&](const auto& of_bracket) {
          for (const SortedMetrics& rung : of_bracket.metrics())
            rungs.push_back(json_of_all(rung.all()));
        },
        bracket);
    brackets.push_back(std::move(rungs));
  }
  return {{"random", sampler_.random().snapshot()},
          {"made", std::move(made)},
          {"trials", std::move(trials)},
          {"decisions", std::move(decisions)},
          {"rungs", std::move(brackets)},
          {"next_to_run", next_to_run_},
          {"started", is_started_},
          {"cut_short", is_cut_short_},
          {"done", is_done_}};
}

Result<Search> Search::restored(const SearchSpace& space, const SearchSettings& settings,
                                const json& snapshot) {
  auto search = make(space, settings);
  if (!search) return search;
  for (const char* name : {"random", "made", "trials", "decisions", "rungs", "next_to_run",
                           "started", "cut_short", "done"})
    if (!snapshot.is_object() || !snapshot.contains(name))
      return damaged(fmt::format("it has no '{}'", name));
  auto random = SearchRandom::restored(snapshot["random"]);
  if (!random) return tl::make_unexpected(random.error());
  if (!search->restore(snapshot)) return damaged("it belongs to another search");
  search->sampler_.resume(search->trials(), *random);
  return search;
}

// The list of trials comes first: the others refer to it.
bool Search::restore(const json& snapshot) {
  const json& made = snapshot["made"];
  if (!restore_trials(snapshot["trials"]) || !restore_decisions(snapshot["decisions"]) ||
      !restore_rungs(snapshot["rungs"]) || !is_list(made, pools_.size()))
    return false;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (!is_below(made[i], trials_.size() + 1)) return false;
    pools_[i].made = made[i].get<std::int64_t>();
  }
  const json& next = snapshot["next_to_run"];
  for (const char* name : {"started", "cut_short", "done"})
    if (!snapshot[name].is_boolean()) return false;
  if (!is_below(next, trials_.size() + 1)) return false;
  next_to_run_ = next.get<std::int64_t>();
  is_started_ = snapshot["started"].get<bool>();
  is_cut_short_ = snapshot["cut_short"].get<bool>();
  is_done_ = snapshot["done"].get<bool>();
  return true;
}

bool Search::restore_trials(const json& list) {
  if (!list.is_array()) return false;
  for (const json& fields : list) {
    const bool has_best = is_list(fields, 6);
    if (!has_best && !is_list(fields, 4)) return false;
    const json& bracket = fields[2];
    const json& entered = fields[3];
    // Without early stopping `brackets_` is empty, and the bracket of every trial is 0.
    if (!is_below(fields[0], trial_state_count) || !is_below(fields[1], trial_state_count) ||
        !is_below(bracket, std::max<std::size_t>(brackets_.size(), 1)) ||
        !is_below(entered, UINT64_MAX))
      return false;
    Trial trial;
    trial.state = static_cast<TrialState>(fields[0].get<int>());
    trial.after_stop = static_cast<TrialState>(fields[1].get<int>());
    trial.bracket = bracket.get<int>();
    trial.entered = entered.get<EnteredRungs>();
    if (has_best) {
      const auto metric = metric_of_json(fields[5]);
      if (!fields[4].is_number() || !metric) return false;
      trial.has_best = true;
      trial.best_step = fields[4].get<double>();
      trial.best_metric = *metric;
    }
    trials_.push_back(trial);
    ++counts_[static_cast<std::size_t>(trial.state)];
  }
  return true;
}

bool Search::restore_decisions(const json& list) {
  if (!list.is_array()) return false;
  for (const json& value : list) {
    const auto decision = decision_of_json(value);
    if (!decision || decision->trial < 0 || decision->trial >= trials()) return false;
    if (decision->rung) {
      const auto bracket = static_cast<std::size_t>(at(decision->trial).bracket);
      if (brackets_.empty() || *decision->rung < 0) return false;
      const std::size_t rungs = std::visit(
          [](const auto& of_bracket) { return of_bracket.metrics().size(); }, brackets_[bracket]);
      if (static_cast<std::size_t>(*decision->rung) >= rungs) return false;
    }
    record(*decision);
  }
  return true;
}

bool Search::restore_rungs(const json& list) {
  if (!is_list(list, brackets_.size())) return false;
  for (std::size_t bracket = 0; bracket < brackets_.size(); ++bracket) {
    const bool is_done = std::visit(
        [&](auto& rungs) {
          const json& of_bracket = list[bracket];
          if (!is_list(of_bracket, rungs.metrics().size())) return false;
          for (std::size_t rung = 0; rung < of_bracket.size(); ++rung) {
            if (!of_bracket[rung].is_array()) return false;
            for (const json& value : of_bracket[rung]) {
              const auto metric = metric_of_json(value);
              if (!metric || !rungs.restore(rung, *metric)) return false;
            }
          }
          return true;
        },
        brackets_[bracket]);
    if (!is_done) return false;
  }
  return true;
}

// Repeats the event that caused `decision`.
void Search::repeat(const SearchDecision& decision) {
  const std::int64_t trial = decision.trial;
  switch (decision.verdict) {
    case SearchVerdict::go_on:
    case SearchVerdict::stop:
      on(search_event::Reported{trial, decision.step, decision.metric});
      break;
    case SearchVerdict::ended:
      on(search_event::Over{trial});
      break;
    case SearchVerdict::failed:
      if (trial >= 0 && trial < trials() && state(trial) == TrialState::waiting)
        on(search_event::Killed{trial});  // only a user ends a trial that does not run
      else
        on(search_event::Over{trial, TrialEnd::failed});
      break;
    case SearchVerdict::invalid:
      on(search_event::Over{trial, TrialEnd::invalid});
      break;
  }
}

Result<Search> Search::replayed(const SearchSpace& space, const SearchSettings& settings,
                                const std::vector<SearchDecision>& decisions) {
  auto search = make(space, settings);
  if (!search) return search;
  search->on(search_event::Start{});
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    // The first entry of a report that enters several rungs repeats the whole report.
    if (i == search->decision_count()) search->repeat(decisions[i]);
    if (i >= search->decision_count() || !(search->decisions_[i].decision == decisions[i]))
      return damaged(fmt::format("decision {} is not one of this search", i));
    // Frees its room as early as possible, so that every trial that ran then also runs now.
    if (decisions[i].verdict == SearchVerdict::stop)
      search->on(search_event::Over{decisions[i].trial});
  }
  if (search->decision_count() != decisions.size())
    return damaged("its last report has decided more than it says");
  return search;
}

// Room that was freed early matters only for trials that were decided about, or are present.
Result<Search> Search::resumed(const SearchSpace& space, const SearchSettings& settings,
                               const std::vector<SearchDecision>& decisions,
                               const std::set<std::int64_t>& present) {
  auto search = replayed(space, settings, decisions);
  if (!search) return search;
  for (const std::int64_t trial : present)
    if (trial < 0 || trial >= search->trials())
      return damaged(fmt::format("trial {} runs, and was never made", trial));
  for (std::int64_t trial = 0; trial < search->trials(); ++trial) {
    const TrialState state = search->state(trial);
    const bool is_present = present.contains(trial);
    if (state == TrialState::waiting || state == TrialState::running) {
      search->enter(trial, is_present ? TrialState::running : TrialState::waiting);
    } else if (is_present) {
      // Only the user can have made it fail before its end.
      search->at(trial).after_stop = state == TrialState::failed ? TrialState::killed : state;
      search->enter(trial, TrialState::stopping);
    }
  }
  search->next_to_run_ = 0;
  search->is_done_ = false;
  return search;
}

void Search::note_killed(std::int64_t trial) {
  if (trial >= 0 && trial < trials() && state(trial) == TrialState::failed)
    enter(trial, TrialState::killed);
}

void Search::recall(const BestReport& best) {
  if (best.trial >= 0 && best.trial < trials()) note_best(at(best.trial), best.step, best.metric);
}

}  // namespace train
