// SPDX-License-Identifier: Apache-2.0
// Resumes a search that another supervisor has begun, which has ended since.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/drivers/search_driver.hpp"
#include "launcher/placement/placement.hpp"

namespace train {

namespace {

// Whether the trial has ended before any of its ranks were told to start, because a host was not
// available, or because others hold slots on it.
bool is_to_begin_again(const TrialReplay& trial) {
  if (!trial.over || trial.task.started_at() || !trial.failure || trial.failure->host < 0)
    return false;
  const ErrorClass error_class = trial.failure->error.error_class;
  return error_class == ErrorClass::host || error_class == ErrorClass::busy;
}

void keep_earlier(std::optional<Failure>& first, const Failure& failure) {
  if (!first || failure.at.at < first->at.at) first = failure;
}

}  // namespace

// The search may not have heard of the end of an ended trial. The decision does not tell how a
// stopped trial ended.
std::set<std::int64_t> present_trials(const Replay& replay) {
  std::set<std::int64_t> decided;
  for (const SearchDecision& each : replay.decisions)
    if (each.verdict != SearchVerdict::go_on) decided.insert(each.trial);
  std::set<std::int64_t> present;
  for (const auto& [number, trial] : replay.trials) {
    const bool has_ended = trial.over && trial.over->why != Sequel::stopped;
    if (trial.attempt >= 0 && !(has_ended && decided.contains(number))) present.insert(number);
  }
  return present;
}

// Of ended trials only the best report is still needed.
Result<void> SearchDriver::take_over(const SearchLeft& left) {
  decided_ = left.replay.decisions.size();
  for (const TrialRecord& trial : left.record.trials) {
    if (trial.best) search_.recall(*trial.best);
    if (trial.state == TrialState::killed) search_.note_killed(trial.trial);
    has_reported_ = has_reported_ || std::any_of(trial.reports.begin(), trial.reports.end(),
                                                 [this](const KeptReport& report) {
                                                   return report.step || has_no_metric();
                                                 });
    const TrialState state = search_.state(trial.trial);
    const bool is_open = state == TrialState::waiting || state == TrialState::running ||
                         state == TrialState::stopping;
    if (!is_open) continue;
    perform(
        search_action::Make{trial.trial, trial.bracket, trial.hyperparameters_json, trial.seed});
    const auto number = static_cast<int>(trial.trial);
    const auto begun = left.replay.trials.find(number);
    if (begun == left.replay.trials.end() || begun->second.attempt < 0 || begun->second.over)
      continue;
    if (!begun->second.place) {
      const Task& task = begun->second.task;
      made_.at(trial.trial).first_attempt = task.attempt() - task.restarts();
      made_.at(trial.trial).is_moved = true;
      wait_for_room(trial.trial);
      continue;
    }
    auto plan = plan_left(number, begun->second);
    if (!plan) return tl::make_unexpected(plan.error());
    left_[number] = std::move(*plan);
    for (const KeptReport& report : trial.reports) left_reports_[number].push_back(report.json);
  }
  return {};
}

Result<std::shared_ptr<const Plan>> SearchDriver::plan_left(int trial,
                                                            const TrialReplay& replay) const {
  auto plan = std::make_shared<Plan>(plan_of(trial));
  auto placed = replay.place ? trial_at(plan->experiment, work_.inventory, *replay.place)
                             : std::optional<Trial>();
  if (!placed)
    return fail(ErrorClass::no_input,
                fmt::format("the journal of the task is damaged: trial {} is at no place that it "
                            "can have",
                            trial));
  plan->trial = std::move(*placed);
  plan->trial.trial = trial;
  return plan;
}

// Carries out decisions that were not carried out yet, and makes decisions on reports that came
// since. Repeated reports decide nothing.
void SearchDriver::resume(const Replay& replay) {
  is_acting_ = true;
  driver_->expect_trials(true);
  driver_->start();
  driver_->resume_trials(resumed_trials(replay));
  for (const auto& [trial, plan] : left_)
    if (search_.state(trial) == TrialState::stopping) driver_->stop_trial(trial, trial_stop);
  if (!replay.stop_signals.empty()) {
    stop_signal_ = replay.stop_signals.front();
    happened(search_event::CutShort{});
  }
  for (const auto& [trial, reports] : std::exchange(left_reports_, {}))
    for (const std::string& report : reports) reported(trial, report);
  std::optional<Instant> started_at;
  for (const auto& [number, trial] : replay.trials)
    if (const auto at = trial.task.started_at())
      started_at = std::min(started_at.value_or(*at), *at);
  const auto repeat_ends = [&](bool of_stopped) {
    for (const auto& [number, trial] : replay.trials)
      if (trial.over && (trial.over->why == Sequel::stopped) == of_stopped)
        repeat_end(number, trial);
  };
  repeat_ends(false);
  // Trials that were ended because the time of the search was over have not failed.
  const auto limit = budget();
  if (limit && started_at && *started_at + *limit <= timers_.now()) end_budget();
  repeat_ends(true);
  left_.clear();
  happened(search_event::Start{});
  is_acting_ = false;
  has_started_ = started_at.has_value();
  if (started_at && !stop_signal_) limit_time(timers_.now() - *started_at);
  act();
}

std::vector<TaskDriver::ResumedTrial> SearchDriver::resumed_trials(const Replay& replay) {
  std::vector<TaskDriver::ResumedTrial> trials;
  for (const auto& [number, plan] : left_) {
    const Task& task = replay.trials.at(number).task;
    const int first_attempt = task.attempt() - task.restarts();
    made_.at(number).first_attempt = first_attempt;
    take(*plan);
    running_.at(number).has_started = task.started_at().has_value();
    trials.push_back({work_of(plan, first_attempt), with_reports(hooks_.hooks_of(*plan), number)});
  }
  return trials;
}

void SearchDriver::repeat_end(int trial, const TrialReplay& replay) {
  const TrialState state = search_.state(trial);
  if (state == TrialState::running && is_to_begin_again(replay)) {
    made_.at(trial).first_attempt = replay.attempt + 1;
    return wait_for_room(trial);
  }
  if (state == TrialState::running || state == TrialState::stopping) {
    made_.erase(trial);
    happened(search_event::Over{trial, end_of_trial(replay.over->end.value_or(AttemptEnd()))});
  }
  if (!replay.failure || replay.over->why == Sequel::stopped) return;
  keep_earlier(first_failure_, *replay.failure);
  if (search_.state(trial) == TrialState::failed) keep_earlier(first_failed_, *replay.failure);
}

}  // namespace train
