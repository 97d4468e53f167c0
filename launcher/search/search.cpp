// SPDX-License-Identifier: Apache-2.0
#include "launcher/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launcher/search/brackets.hpp"
#include "launcher/search/metric_value.hpp"

namespace train {

const StateTable<TrialState>& trial_states() {
  using enum TrialState;
  static const StateTable<TrialState> table(
      "trial",
      {
          {waiting,
           "waiting",
           "it is made, and runs when there is room",
           {running, stopped, killed}},
          {running, "running", "it was given its room", {stopping, succeeded, failed, invalid}},
          {stopping,
           "stopping",
           "it was told to stop, and something of it may still run",
           {succeeded, stopped, invalid, killed}},
          {succeeded, "succeeded", "it has done all that was wanted of it", {}},
          {stopped, "stopped", "the search wanted no more of it", {}},
          {failed, "failed", "for good", {}},
          {invalid, "invalid", "its hyperparameters make no sense", {}},
          {killed, "killed", "by the user", {}},
      });
  return table;
}

Search::Search(TrialSampler sampler, const SearchSettings& settings)
    : settings_(settings), sampler_(std::move(sampler)) {}

Result<Search> Search::make(const SearchSpace& space, const SearchSettings& settings) {
  if (const auto checked = check_settings(settings); !checked)
    return tl::make_unexpected(checked.error());
  auto sampler = TrialSampler::of(space, settings);
  if (!sampler) return tl::make_unexpected(sampler.error());
  Search search(std::move(*sampler), settings);
  if (const auto done = search.set_up_pools(); !done) return tl::make_unexpected(done.error());
  return search;
}

Result<void> Search::set_up_pools() {
  for (const Bracket& bracket : brackets_of(settings_)) {
    pools_.push_back({bracket.trials, std::min(bracket.at_once, bracket.trials)});
    brackets_.emplace_back(HalvingRungs(bracket.rungs, settings_.divisor));
  }
  if (!settings_.halves()) {
    const std::int64_t limit = settings_.most_at_once();
    const std::int64_t most = limit > 0 ? std::min(limit, most_at_once) : most_without_limit;
    pools_.push_back({sampler_.trials(), std::min(most, sampler_.trials())});
  }
  if (settings_.method == SearchMethod::tune && settings_.tune_asha)
    for (int bracket = 0; bracket < settings_.tune_asha->brackets; ++bracket)
      brackets_.emplace_back(TuneRungs(*settings_.tune_asha, bracket));
  // A single trial without sampled values would be replaced by an identical one for ever.
  replaces_invalid_ = settings_.halves() || settings_.method == SearchMethod::random ||
                      (settings_.method == SearchMethod::single && sampler_.has_draws());
  for (const Pool& pool : pools_) room_ += std::min(pool.at_start, most_at_once + 1);
  if (room_ > most_at_once)
    return fail(ErrorClass::config,
                fmt::format("the search would begin with more than {} trials", most_at_once),
                "set 'max_concurrent_trials'");
  return {};
}

std::vector<SearchAction> Search::on(const SearchEvent& event) {
  std::visit([this](const auto& each) { handle(each); }, event);
  use_room();
  return std::exchange(actions_, {});
}

void Search::handle(const search_event::Start&) {
  if (std::exchange(is_started_, true)) return;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool)
    for (std::int64_t i = 0; i < pools_[pool].at_start; ++i) make_in(pool);
}

void Search::handle(const search_event::Reported& event) {
  if (!runs(event.trial) || !std::isfinite(event.step)) return;
  Trial& trial = at(event.trial);
  note_best(trial, event.step, event.metric);
  if (brackets_.empty()) return;
  const double metric = rank_metric(event.metric);
  const std::vector<RungVerdict> verdicts =
      std::visit([&](auto& rungs) { return rungs.report(trial.entered, event.step, metric); },
                 brackets_[static_cast<std::size_t>(trial.bracket)]);
  for (const RungVerdict& verdict : verdicts) {
    record({event.trial, verdict.stops ? SearchVerdict::stop : SearchVerdict::go_on, verdict.rung,
            event.step, event.metric});
    if (!verdict.stops) continue;
    stop(event.trial, verdict.is_complete ? TrialState::succeeded : TrialState::stopped);
    make_next_of(event.trial);
  }
}

void Search::handle(const search_event::SaidInvalid& event) {
  if (!runs(event.trial)) return;
  stop(event.trial, TrialState::invalid);
  count_invalid(event.trial);
}

void Search::handle(const search_event::Killed& event) {
  if (event.trial < 0 || event.trial >= trials()) return;
  const bool is_waiting = state(event.trial) == TrialState::waiting;
  if (!is_waiting && !runs(event.trial)) return;
  if (is_waiting)
    enter(event.trial, TrialState::killed);
  else
    stop(event.trial, TrialState::killed);
  count_failure(event.trial);
}

void Search::handle(const search_event::Over& event) {
  if (event.trial < 0 || event.trial >= trials()) return;
  if (state(event.trial) == TrialState::stopping)
    return enter(event.trial, at(event.trial).after_stop);
  if (!runs(event.trial)) return;
  switch (event.end) {
    case TrialEnd::by_itself:
      enter(event.trial, TrialState::succeeded);
      record({event.trial, SearchVerdict::ended});
      return make_next_of(event.trial);
    case TrialEnd::failed:
      enter(event.trial, TrialState::failed);
      return count_failure(event.trial);
    case TrialEnd::invalid:
      enter(event.trial, TrialState::invalid);
      return count_invalid(event.trial);
  }
}

void Search::handle(const search_event::CutShort&) {
  is_started_ = true;
  is_cut_short_ = true;
  for (std::int64_t trial = 0; trial < trials(); ++trial)
    if (state(trial) == TrialState::waiting)
      enter(trial, TrialState::stopped);
    else if (runs(trial))
      stop(trial, TrialState::stopped);
}

bool Search::runs(std::int64_t trial) const {
  return trial >= 0 && trial < trials() && state(trial) == TrialState::running;
}

std::size_t Search::pool_of(const Trial& trial) const {
  return settings_.halves() ? static_cast<std::size_t>(trial.bracket) : 0;
}

void Search::enter(std::int64_t trial, TrialState state) {
  --counts_[static_cast<std::size_t>(at(trial).state)];
  ++counts_[static_cast<std::size_t>(state)];
  at(trial).state = state;
}

void Search::make_in(std::size_t pool) {
  TrialSample sample = sampler_.next();
  Trial trial;
  trial.bracket = settings_.halves() ? static_cast<int>(pool) : sample.tune_bracket;
  actions_.emplace_back(search_action::Make{trials(), trial.bracket,
                                            std::move(sample.hyperparameters_json), sample.seed});
  trials_.push_back(trial);
  ++counts_[static_cast<std::size_t>(TrialState::waiting)];
  ++pools_[pool].made;
}

void Search::make_next_of(std::int64_t trial) {
  const std::size_t pool = pool_of(at(trial));
  if (!is_cut_short_ && pools_[pool].made < pools_[pool].trials) make_in(pool);
}

void Search::stop(std::int64_t trial, TrialState after) {
  enter(trial, TrialState::stopping);
  at(trial).after_stop = after;
  actions_.emplace_back(search_action::Stop{trial});
}

void Search::record(const SearchDecision& decision) {
  Trial& trial = at(decision.trial);
  decisions_.push_back({decision, trial.last_decision});
  trial.last_decision = static_cast<std::int64_t>(decisions_.size()) - 1;
}

void Search::note_best(Trial& trial, double step, double metric) const {
  if (std::isnan(metric) || (trial.has_best && !is_better(settings_, metric, trial.best_metric)))
    return;
  trial.has_best = true;
  trial.best_step = step;
  trial.best_metric = metric;
}

double Search::rank_metric(double metric) const {
  const bool ranks_smaller_first = settings_.method != SearchMethod::tune;
  return settings_.smaller_is_better == ranks_smaller_first ? metric : -metric;
}

void Search::count_failure(std::int64_t trial) {
  if (settings_.halves())
    std::get<HalvingRungs>(brackets_[static_cast<std::size_t>(at(trial).bracket)])
        .add_failure(at(trial).entered);
  record({trial, SearchVerdict::failed});
  make_next_of(trial);
}

// Removes all reports of the trial, and does not count it as one of the trials.
void Search::count_invalid(std::int64_t trial) {
  for (std::int64_t i = at(trial).last_decision; i >= 0;
       i = decisions_[static_cast<std::size_t>(i)].before) {
    const SearchDecision& decision = decisions_[static_cast<std::size_t>(i)].decision;
    if (!decision.rung) continue;
    std::visit([&](auto& rungs) { rungs.remove(*decision.rung, rank_metric(decision.metric)); },
               brackets_[static_cast<std::size_t>(at(trial).bracket)]);
  }
  record({trial, SearchVerdict::invalid});
  const bool is_every_invalid = ++invalid_ == decision_count();
  if (replaces_invalid_ && (!is_every_invalid || invalid_ < most_invalid))
    --pools_[pool_of(at(trial))].made;
  make_next_of(trial);
}

void Search::use_room() {
  const auto taken = [this] { return count(TrialState::running) + count(TrialState::stopping); };
  for (; next_to_run_ < trials(); ++next_to_run_) {
    if (state(next_to_run_) != TrialState::waiting) continue;
    if (taken() >= room_) return;
    enter(next_to_run_, TrialState::running);
    actions_.emplace_back(search_action::Run{next_to_run_});
  }
  if (!is_started_ || is_done_ || taken() > 0) return;
  is_done_ = true;
  actions_.emplace_back(search_action::Done{});
}

std::vector<SearchDecision> Search::decisions() const { return decisions_from(0); }

std::vector<SearchDecision> Search::decisions_from(std::size_t first) const {
  std::vector<SearchDecision> decisions;
  for (std::size_t i = first; i < decisions_.size(); ++i)
    decisions.push_back(decisions_[i].decision);
  return decisions;
}

std::optional<BestReport> Search::best(std::int64_t trial) const {
  if (trial < 0 || trial >= trials() || !at(trial).has_best) return std::nullopt;
  return BestReport{trial, at(trial).best_step, at(trial).best_metric};
}

std::optional<BestReport> Search::best() const {
  std::optional<BestReport> best_so_far;
  for (std::int64_t i = 0; i < trials(); ++i) {
    const Trial& trial = at(i);
    const TrialState state = trial.state == TrialState::stopping ? trial.after_stop : trial.state;
    if (!trial.has_best || state == TrialState::invalid) continue;
    if (!best_so_far || is_better(settings_, trial.best_metric, best_so_far->metric))
      best_so_far = best(i);
  }
  return best_so_far;
}

std::vector<double> Search::recorded(int bracket, int rung) const {
  return std::visit(
      [&](const auto& rungs) { return rungs.metrics()[static_cast<std::size_t>(rung)].all(); },
      brackets_[static_cast<std::size_t>(bracket)]);
}

}  // namespace train
