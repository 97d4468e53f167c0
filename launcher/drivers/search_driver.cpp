// SPDX-License-Identifier: Apache-2.0
#include "launcher/drivers/search_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "config_schema/text/duration.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/search/trial_experiment.hpp"
#include "launcher/search/trial_report.hpp"

namespace train {

namespace {

std::string holder_of(int trial) { return fmt::format("trial {}", trial); }

// A failure of no rank and no host.
Failure failure_of_search(Error error) { return {{}, std::move(error), {}, -1, 0}; }

}  // namespace

TrialEnd end_of_trial(const AttemptEnd& last) {
  if (last.succeeded) return TrialEnd::by_itself;
  return last.exit_code == invalid_hyperparameters_code ? TrialEnd::invalid : TrialEnd::failed;
}

SearchDriver::SearchDriver(SearchWork work, Timers& timers, Search search, Hooks hooks)
    : work_(std::move(work)),
      timers_(timers),
      search_(std::move(search)),
      hooks_(std::move(hooks)),
      hosts_(work_.inventory) {
  // Without leases, nothing tells when a use ends: it holds for good.
  if (work_.experiment.leases == Leasing::none) {
    held_ = work_.held;
  } else {
    for (const HostUse& use : work_.held) hosts_.hold(use, timers_.now());
  }
  for (std::size_t host = 0; host < work_.hosts.size(); ++host)
    host_indices_.emplace(work_.hosts[host].name, static_cast<int>(host));
}

Result<std::unique_ptr<SearchDriver>> SearchDriver::make(SearchWork work, Timers& timers,
                                                         Hooks hooks, const SearchLeft* left) {
  const SearchConfig& config = *work.experiment.search_config;
  const SearchSpace space(config.space);
  auto search = left == nullptr ? Search::make(space, config.settings)
                                : Search::resumed(space, config.settings, left->replay.decisions,
                                                  present_trials(left->replay));
  if (!search) return tl::make_unexpected(search.error());
  std::unique_ptr<SearchDriver> driver(
      new SearchDriver(std::move(work), timers, std::move(*search), std::move(hooks)));
  if (left == nullptr) return driver;
  if (const auto taken = driver->take_over(*left); !taken)
    return tl::make_unexpected(taken.error());
  return driver;
}

TaskHooks SearchDriver::hooks_of_task(TaskHooks hooks) {
  hooks.on_trial_over = [this](int trial, const RunOutcome& outcome) {
    trial_over(trial, outcome);
  };
  hooks.on_over = [this, told = std::move(hooks.on_over)] {
    task_over();
    told();
  };
  return with_reports(std::move(hooks), work_.first.trial.trial);
}

TaskHooks SearchDriver::with_reports(TaskHooks hooks, int trial) {
  hooks.on_report = [this, trial, told = std::move(hooks.on_report)](const MetricsReport& report) {
    told(report);
    if (work_.experiment.metrics.counts(report.rank)) reported(trial, report.json);
  };
  hooks.on_all_started = [this, trial, told = std::move(hooks.on_all_started)] {
    told();
    started(trial);
  };
  hooks.on_restart = [this, trial,
                      told = std::move(hooks.on_restart)](const task_action::AnnounceRestart& how) {
    if (const auto running = running_.find(trial); running != running_.end())
      running->second.has_started = true;
    told(how);
  };
  return hooks;
}

void SearchDriver::start(TaskDriver& driver) {
  if (const TaskResumption* left = driver.resumption()) {
    driver_ = &driver;
    return resume(left->replay);
  }
  happened(search_event::Start{});  // the first trial is the driver's already
  driver_ = &driver;
  driver.expect_trials(true);
  driver.start();
  act();
}

void SearchDriver::stop(int signal) {
  const bool is_first = !stop_signal_;
  if (is_first) stop_signal_ = signal;
  if (is_first && running_.empty() && !waiting_.empty())
    driver_->end_trials({Sequel::stopped, signal});
  else
    driver_->stop(signal);
  if (is_first) happened(search_event::CutShort{});
}

bool SearchDriver::kill_trial(std::int64_t trial) {
  if (trial < 0 || trial >= search_.trials()) return false;
  const TrialState state = search_.state(trial);
  if (state != TrialState::waiting && state != TrialState::running) return false;
  happened(search_event::Killed{trial});
  return true;
}

bool SearchDriver::has_any_succeeded() const {
  return search_.count(TrialState::succeeded) + search_.count(TrialState::stopped) > 0;
}

bool SearchDriver::has_succeeded() const {
  const bool are_failures_fatal = work_.is_strict && search_.count(TrialState::failed) > 0;
  return !is_refused_ && !no_host_ && !is_unreported() && has_any_succeeded() &&
         !are_failures_fatal;
}

// The trials that the budget has ended have reported nothing useful.
Failure SearchDriver::late_failure() const {
  const SearchConfig& config = *work_.experiment.search_config;
  const std::string what = has_no_metric() ? "anything" : fmt::format("'{}'", config.metric);
  return failure_of_search(make_error(
      ErrorClass::worker, fmt::format("no trial has reported {} in the time of the search, {} "
                                      "(time_budget_s)",
                                      what, duration_text(*config.time_budget))));
}

std::string SearchDriver::failure_words(const Failure& cause) const {
  const std::string& first = cause.error.diagnostics.front().message;
  if (is_refused_) return first;
  if (has_any_succeeded()) {
    const std::int64_t failed = search_.count(TrialState::failed);
    if (failed == 1) return fmt::format("1 of {} trials has failed: {}", search_.trials(), first);
    return fmt::format("{} of {} trials have failed; the first to: {}", failed, search_.trials(),
                       first);
  }
  if (search_.trials() == 1) return "its only trial has failed: " + first;
  return fmt::format("all {} trials have failed; the first to: {}", search_.trials(), first);
}

RunOutcome SearchDriver::outcome() const {
  RunOutcome outcome;
  outcome.stop_signal = stop_signal_;
  outcome.succeeded = !stop_signal_ && has_succeeded();
  if (outcome.succeeded || stop_signal_) return outcome;
  if (no_host_) {
    outcome.cause = no_host_;
    return outcome;
  }
  if (is_unreported() && !is_refused_) {
    outcome.cause = late_failure();
    return outcome;
  }
  Failure cause = failure_of_search(make_error(ErrorClass::worker, "no trial has ended well"));
  if (const auto& first = has_any_succeeded() ? first_failed_ : first_failure_) {
    cause = *first;
    cause.rank.reset();
    cause.host = -1;
    cause.error.diagnostics = {{{}, {}, failure_words(*first), {}}};
  }
  outcome.cause = std::move(cause);
  return outcome;
}

void SearchDriver::happened(const SearchEvent& event) {
  const std::size_t number = acted_ + steps_.size();
  steps_.push_back({search_.on(event)});
  journal_record::SearchDecided decided{search_.decisions_from(decided_)};
  decided_ = search_.decision_count();
  if (decided.decisions.empty() || driver_ == nullptr) {
    steps_.back().is_written = true;
    return act();
  }
  // A stop is synced: if it were lost, the stopped trial would count as failed.
  const bool is_stop =
      std::any_of(decided.decisions.begin(), decided.decisions.end(),
                  [](const SearchDecision& each) { return each.verdict == SearchVerdict::stop; });
  driver_->write_decisions(std::move(decided),
                           is_stop ? JournalWriter::Durable::yes : JournalWriter::Durable::no,
                           [this, number] {
                             steps_[number - acted_].is_written = true;
                             act();
                           });
}

// Carries out steps in order, even if actions add further steps meanwhile.
void SearchDriver::act() {
  if (std::exchange(is_acting_, true)) return;
  do {
    while (!steps_.empty() && steps_.front().is_written) {
      const Step step = std::move(steps_.front());
      steps_.pop_front();
      ++acted_;
      for (const SearchAction& action : step.actions)
        std::visit([this](const auto& each) { perform(each); }, action);
    }
    place_waiting();
  } while (!steps_.empty() && steps_.front().is_written);
  is_acting_ = false;
}

void SearchDriver::perform(const search_action::Make& action) {
  hooks_.on_made(action);
  made_[action.trial] = {action.hyperparameters_json, action.seed};
}

void SearchDriver::perform(const search_action::Run& action) {
  if (driver_ == nullptr && action.trial == work_.first.trial.trial) return take(work_.first);
  wait_for_room(action.trial);
}

void SearchDriver::wait_for_room(std::int64_t trial) {
  waiting_.insert(std::lower_bound(waiting_.begin(), waiting_.end(), trial), trial);
}

// A trial that waits for slots ends at once when it is stopped.
void SearchDriver::perform(const search_action::Stop& action) {
  const auto waiting = std::find(waiting_.begin(), waiting_.end(), action.trial);
  if (waiting != waiting_.end()) {
    waiting_.erase(waiting);
    made_.erase(action.trial);
    return happened(search_event::Over{action.trial, TrialEnd::by_itself});
  }
  if (!stop_signal_) driver_->stop_trial(static_cast<int>(action.trial), trial_stop);
}

void SearchDriver::perform(const search_action::Done&) {
  time_limit_.reset();
  driver_->end_trials({has_succeeded() ? Sequel::succeeded : Sequel::no_restarts_left});
}

// All trials need the same amount: if the first one has no room, none has.
void SearchDriver::place_waiting() {
  if (driver_ == nullptr || driver_->over() || stop_signal_ || no_host_) return;
  while (!waiting_.empty()) {
    if (begin(waiting_.front())) continue;
    if (!running_.empty() || hosts_.are_any_held()) break;
    if (!hosts_.take_back_early()) return end_without_hosts();
  }
  await_hosts();
}

// Sets the timer even while running trials may make room earlier.
void SearchDriver::await_hosts() {
  next_try_.reset();
  const auto next = waiting_.empty() ? std::nullopt : hosts_.next_deadline();
  if (!next) return;
  next_try_ = timers_.after(std::max(*next - timers_.now(), nanoseconds(0)), [this] {
    hosts_.tick(timers_.now());
    act();
  });
}

void SearchDriver::end_without_hosts() {
  next_try_.reset();
  Error why = make_error(ErrorClass::host, "no host is left that can hold another trial");
  if (last_trouble_)
    why.diagnostics.front().message += ": " + last_trouble_->diagnostics.front().message;
  no_host_ = failure_of_search(std::move(why));
  happened(search_event::CutShort{});
}

bool SearchDriver::begin(std::int64_t number) {
  const auto& most_slots = work_.experiment.search.most_slots;
  const Quantity slots = work_.first.trial.slots;
  if (most_slots && Quantity::of(*most_slots) < used_slots_ + slots) return false;
  auto plan = std::make_shared<Plan>(plan_of(number));
  Occupancy held = hosts_.held();
  held.insert(held.end(), held_.begin(), held_.end());
  auto trial = place_trial(plan->experiment, hosts_.left(), held);
  if (!trial) return false;
  plan->trial = std::move(*trial);
  plan->trial.trial = static_cast<int>(number);
  waiting_.pop_front();
  take(*plan);
  Sample& sample = made_.at(number);
  TrialWork work = work_of(plan, sample.first_attempt);
  work.is_left = std::exchange(sample.is_moved, false);
  if (work.is_left) running_.at(static_cast<int>(number)).has_started = true;
  driver_->begin_trial(std::move(work),
                       with_reports(hooks_.hooks_of(*plan), static_cast<int>(number)));
  return true;
}

// The plan without its placement.
Plan SearchDriver::plan_of(std::int64_t trial) const {
  const Sample& sample = made_.at(trial);
  Plan plan;
  plan.experiment =
      trial_experiment(work_.experiment, {sample.hyperparameters_json, sample.seed, 0});
  plan.experiment.trainer = work_.first.experiment.trainer;
  plan.user_variables = work_.first.user_variables;
  return plan;
}

TrialWork SearchDriver::work_of(const std::shared_ptr<const Plan>& plan, int first_attempt) const {
  TrialWork work{
      *plan,
      port_needs(*plan),
      [=](int rank, int attempt) { return environment_of(*plan, rank, attempt - first_attempt); },
      {},
      {},
      plan,
      first_attempt};
  for (const PlannedHost& host : plan->trial.hosts)
    work.hosts.push_back(host_indices_.at(host.host.name));
  return work;
}

void SearchDriver::take(const Plan& plan) {
  Occupancy used = occupancy_of(plan.experiment, plan.trial, holder_of(plan.trial.trial));
  held_.insert(held_.end(), used.begin(), used.end());
  used_slots_ = used_slots_ + plan.trial.slots;
  running_[plan.trial.trial] = {plan.trial.slots, std::move(used)};
}

void SearchDriver::reported(int trial, const std::string& json) {
  const auto running = running_.find(trial);
  if (running == running_.end()) return;
  const SearchConfig& config = *work_.experiment.search_config;
  const auto read =
      read_trial_report(nlohmann::json::parse(json, nullptr, false),
                        {config.metric, config.time_metric}, ++running->second.reports);
  if (read.says_invalid) return happened(search_event::SaidInvalid{trial});
  if (read.decides() || has_no_metric()) has_reported_ = true;
  if (read.metric && !read.step && !std::exchange(is_without_step_, true))
    hooks_.on_report_without_step(trial);
  if (read.decides()) happened(search_event::Reported{trial, *read.step, *read.metric});
}

// The time budget of a search counts from the first start of a trial. At its end the search is cut
// short; at the end of `max_runtime` the whole task is stopped.
void SearchDriver::started(int trial) {
  if (const auto running = running_.find(trial); running != running_.end()) {
    running->second.has_started = true;
    for (const HostUse& use : running->second.uses) hosts_.started_on(use);
  }
  if (!std::exchange(has_started_, true)) limit_time(nanoseconds(0));
}

void SearchDriver::limit_time(nanoseconds since) {
  const auto time = budget();
  const auto limit = work_.experiment.max_runtime;
  const auto after = [&](milliseconds span, std::function<void()> then) {
    return timers_.after(std::max(span - since, nanoseconds(0)), std::move(then));
  };
  if (time)
    time_limit_ = after(*time, [this] { end_budget(); });
  else if (limit)
    time_limit_ = after(*limit, [this] { stop(runtime_over); });
}

// Nothing also if the whole task ends before the budget.
std::optional<milliseconds> SearchDriver::budget() const {
  const auto& time = work_.experiment.search_config->time_budget;
  const auto& limit = work_.experiment.max_runtime;
  return time && limit && *limit < *time ? std::nullopt : time;
}

void SearchDriver::end_budget() {
  is_budget_spent_ = true;
  happened(search_event::CutShort{});
}

// A stop by the user ends the task with its last trial, without a further report about that trial.
void SearchDriver::task_over() {
  while (!running_.empty()) trial_over(running_.begin()->first, driver_->outcome());
}

void SearchDriver::trial_over(int trial, const RunOutcome& outcome) {
  const auto ended = running_.extract(trial);
  if (ended.empty()) return;
  used_slots_ = used_slots_ - ended.mapped().slots;
  std::erase_if(held_,
                [holder = holder_of(trial)](const HostUse& use) { return use.holder == holder; });
  const bool is_busy = outcome.cause && outcome.cause->error.error_class == ErrorClass::busy;
  const bool is_refusal = is_busy && !has_started_ && !first_failure_;
  if (is_refusal) is_refused_ = true;
  if (!is_refusal && pass_over(trial, ended.mapped(), outcome) &&
      begin_again(trial, ended.mapped(), outcome))
    return act();
  made_.erase(trial);
  if (!first_failure_ && outcome.cause) first_failure_ = outcome.cause;
  const SearchEvent over = search_event::Over{trial, end_of_trial(end_of(outcome))};
  // Reports about this trial come before another trial begins.
  const bool was_acting = std::exchange(is_acting_, true);
  happened(over);
  if (!first_failed_ && search_.state(trial) == TrialState::failed) first_failed_ = outcome.cause;
  if (is_refusal) happened(search_event::CutShort{});  // the other trials would be refused as well
  hooks_.on_trial_over(trial, outcome);
  is_acting_ = was_acting;
  act();
}

// Whether the trial failed because a host was not available, or because others hold slots on it.
// These hosts or slots are avoided from now on.
bool SearchDriver::pass_over(int trial, const Running& was, const RunOutcome& outcome) {
  if (!outcome.cause || stop_signal_ || is_refused_) return false;
  bool is_any = leave_out(was, *outcome.cause);
  for (const Failure& each : outcome.others) is_any = leave_out(was, each) || is_any;
  const Failure& cause = *outcome.cause;
  if (cause.error.error_class != ErrorClass::busy || cause.host < 0) return is_any;
  HostUse held = was.uses[static_cast<std::size_t>(cause.host)];
  held.holder = "others";
  hosts_.hold(std::move(held), timers_.now());
  hooks_.on_held(trial, cause.error);
  return true;
}

bool SearchDriver::leave_out(const Running& was, const Failure& failure) {
  if (failure.error.error_class != ErrorClass::host || failure.host < 0) return false;
  const std::string& host = was.uses[static_cast<std::size_t>(failure.host)].host;
  last_trouble_ = failure.error;
  if (const auto pause = hosts_.leave_out(host, timers_.now()))
    hooks_.on_left_out(host, failure.error, *pause);
  return true;
}

// A trial whose ranks may have run is not begun again here.
bool SearchDriver::begin_again(int trial, const Running& was, const RunOutcome& outcome) {
  if (was.has_started || outcome.were_told_to_start) return false;
  if (no_host_ || search_.state(trial) != TrialState::running) return false;
  ++made_.at(trial).first_attempt;
  wait_for_room(trial);
  return true;
}

}  // namespace train
