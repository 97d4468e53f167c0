// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/text.hpp"

namespace train {

std::string_view to_string(Sequel sequel) {
  switch (sequel) {
    case Sequel::restart:
      return "restart";
    case Sequel::succeeded:
      return "succeeded";
    case Sequel::stopped:
      return "stopped";
    case Sequel::never_started:
      return "never_started";
    case Sequel::invalid_hyperparameters:
      return "invalid_hyperparameters";
    case Sequel::hopeless:
      return "hopeless";
    case Sequel::unrecorded:
      return "unrecorded";
    case Sequel::processes_left:
      return "processes_left";
    case Sequel::no_restarts_left:
      return "no_restarts_left";
    case Sequel::no_progress:
      return "no_progress";
    case Sequel::same_cause:
      return "same_cause";
  }
  return "restart";
}

const StateTable<AttemptState>& attempt_states() {
  using enum AttemptState;
  static const StateTable<AttemptState> table(
      "an attempt of a task",
      {{waiting, "waiting", "it begins once the restart delay has passed", {running, cancelled}},
       {running, "running", "hosts are prepared, or ranks run", {failing, over}},
       {failing, "failing", "something has failed, or the user stops it: its ranks end", {over}},
       {over, "over", "nothing of it is left on any host that answers", {}},
       {cancelled, "cancelled", "the user has ended the task before it began", {}}});
  return table;
}

AttemptEnd end_of(const RunOutcome& outcome) {
  AttemptEnd end;
  end.succeeded = outcome.succeeded;
  end.any_started = std::any_of(
      outcome.ranks.begin(), outcome.ranks.end(),
      [](const RankOutcome& rank) { return rank.state != RankOutcome::State::not_started; });
  end.left_processes =
      std::any_of(outcome.leftovers.begin(), outcome.leftovers.end(),
                  [](const Leftover& leftover) { return !leftover.survivors.empty(); });
  if (!outcome.cause) return end;
  const Failure& cause = *outcome.cause;
  end.exit_code = cause.exit_code;
  // Which rank is the first may differ from attempt to attempt.
  std::string words = fmt::format("{} {}", to_string(cause.error.error_class), cause.exit_code);
  if (cause.rank) words += outcome.ranks[static_cast<std::size_t>(*cause.rank)].reported;
  if (cause.error.error_class != ErrorClass::host) end.cause = hash_of(words) >> 1;
  return end;
}

bool is_in_vain(Sequel sequel) {
  return sequel == Sequel::no_progress || sequel == Sequel::same_cause;
}

std::string no_help_text(Sequel why, const std::string& cause) {
  const char* const what = why == Sequel::same_cause
                               ? "the last two attempts failed alike and came to nothing "
                                 "(stop_on_same_cause)"
                               : "the last attempts made no checkpoint and reported no metrics "
                                 "(max_no_progress)";
  return fmt::format("restarting does not help: {}; the last one: {}", what, cause);
}

Sequel sequel_of(int restarts, const AttemptEnd& end, bool is_stopped, int max_restarts) {
  if (end.succeeded) return Sequel::succeeded;
  if (is_stopped) return Sequel::stopped;
  if (end.is_moved) return Sequel::restart;
  if (restarts == 0 && !end.any_started) return Sequel::never_started;
  if (end.exit_code == invalid_hyperparameters_code) return Sequel::invalid_hyperparameters;
  if (end.is_hopeless) return Sequel::hopeless;
  if (end.is_unrecorded) return Sequel::unrecorded;
  if (end.left_processes) return Sequel::processes_left;
  return restarts < max_restarts ? Sequel::restart : Sequel::no_restarts_left;
}

Task::Rules Task::rules_of(const ExperimentConfig& experiment, bool is_search) {
  Rules rules;
  rules.max_restarts = experiment.max_restarts;
  rules.restart_delay = experiment.restart_delay;
  rules.max_no_progress = experiment.max_no_progress;
  rules.stops_on_same_cause = experiment.stop_on_same_cause;
  if (!is_search) rules.max_runtime = experiment.max_runtime;
  return rules;
}

std::vector<TaskAction> Task::on(const TaskEvent& event, Instant now) {
  now_ = now;
  if (!is_over_) std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

void Task::handle(const task_event::Begin&) {
  if (attempts_.back() == AttemptState::waiting) begin();
}

void Task::handle(const task_event::RanksStarting&) {
  if (!started_at_) started_at_ = now_;
}

// A task that is being stopped has no time limit any more.
std::optional<Instant> Task::runs_until() const {
  if (is_over_ || is_stopped_ || !started_at_ || !rules_.max_runtime) return std::nullopt;
  return *started_at_ + *rules_.max_runtime;
}

std::optional<Instant> Task::next_deadline() const {
  const auto end = runs_until();
  return begins_at_ && end ? std::min(*begins_at_, *end) : begins_at_ ? begins_at_ : end;
}

void Task::begin() {
  begins_at_.reset();
  failing_at_.reset();
  attempts_.back().become(AttemptState::running);
  actions_.emplace_back(task_action::BeginAttempt{attempt()});
}

void Task::handle(const task_event::AttemptFailing&) {
  if (attempts_.back() != AttemptState::running) return;
  attempts_.back().become(AttemptState::failing);
  failing_at_ = now_;
}

void Task::handle(const task_event::AttemptOver& event) {
  TrackedState<AttemptState>& last = attempts_.back();
  if (last != AttemptState::running && last != AttemptState::failing) return;
  last.become(AttemptState::over);
  Sequel sequel = sequel_of(counted_restarts(), event.end, is_stopped_, rules_.max_restarts);
  if (sequel == Sequel::restart) sequel = end_in_vain(event.end).value_or(sequel);
  if (sequel != Sequel::restart) return end(sequel, std::nullopt);
  attempts_.emplace_back(attempt_states());
  if (event.end.is_moved) ++moves_;
  // The delay counts from the failure: it passes while the ranks are being stopped.
  begins_at_ = failing_at_.value_or(now_);
  if (!event.end.is_moved) *begins_at_ += delay_before(counted_restarts());
  const Instant fence_end = now_ + event.end.fence;
  const bool is_fenced = fence_end > *begins_at_;
  begins_at_ = std::max(*begins_at_, fence_end);
  const nanoseconds left = std::max(*begins_at_ - now_, nanoseconds(0));
  const int number = event.end.is_moved ? 0 : counted_restarts();
  actions_.emplace_back(task_action::AnnounceRestart{number, rules_.max_restarts, left, is_fenced});
  // Where the hosts are taken away, it begins with the next event, if there is one.
  if (left == nanoseconds(0) && !event.end.is_moved) begin();
}

// An attempt whose hosts were taken away says nothing about the program.
std::optional<Sequel> Task::end_in_vain(const AttemptEnd& end) {
  if (end.is_moved) return std::nullopt;
  const std::uint64_t before = std::exchange(last_cause_, end.made_progress ? 0 : end.cause);
  in_vain_ = end.made_progress ? 0 : in_vain_ + 1;
  if (rules_.max_no_progress > 0 && in_vain_ >= rules_.max_no_progress) return Sequel::no_progress;
  const bool is_same = last_cause_ != 0 && last_cause_ == before;
  return is_same && rules_.stops_on_same_cause ? std::optional(Sequel::same_cause) : std::nullopt;
}

// Later requests change nothing here: the running attempt is told of each of them.
void Task::handle(const task_event::StopRequested& event) {
  is_stopped_ = true;
  if (attempts_.back() != AttemptState::waiting) return;
  attempts_.back().become(AttemptState::cancelled);
  end(Sequel::stopped, event.signal);
}

void Task::handle(const task_event::Tick&) {
  if (const auto end = runs_until(); end && now_ >= *end)
    actions_.emplace_back(task_action::EndRuntime{});
  else if (begins_at_ && now_ >= *begins_at_)
    begin();
}

void Task::end(Sequel why, std::optional<int> signal) {
  is_over_ = true;
  begins_at_.reset();
  actions_.emplace_back(task_action::End{why, signal});
}

nanoseconds Task::delay_before(int number) const {
  const milliseconds longest = std::max(rules_.longest_delay, rules_.restart_delay);
  milliseconds delay = rules_.restart_delay;
  for (int restart = 1; restart < number && delay < longest; ++restart) delay *= 2;
  return std::min(delay, longest);
}

// `now_` is only the instant of the last event, and has no effect on later events.
std::string Task::snapshot() const {
  std::string text = fmt::format("rules {} {} {};", rules_.max_restarts,
                                 rules_.restart_delay.count(), rules_.longest_delay.count());
  if (first_ > 0) text += fmt::format(" from {};", first_);
  if (moves_ > 0) text += fmt::format(" moved {} times;", moves_);
  if (rules_.max_no_progress > 0 || rules_.stops_on_same_cause)
    text += fmt::format(" at most {} in vain{};", rules_.max_no_progress,
                        rules_.stops_on_same_cause ? ", not twice for a cause" : "");
  if (in_vain_ > 0) text += fmt::format(" {} in vain, the last for {};", in_vain_, last_cause_);
  if (rules_.max_runtime) text += fmt::format(" at most {} ms;", rules_.max_runtime->count());
  for (const auto& attempt : attempts_) {
    for (const AttemptState state : attempt.path())
      text.append(" ").append(attempt_states().row(state).name);
    text += ";";
  }
  if (started_at_) text += fmt::format(" started at {}", started_at_->count());
  if (failing_at_) text += fmt::format(" failing at {}", failing_at_->count());
  if (begins_at_) text += fmt::format(" begins at {}", begins_at_->count());
  if (is_stopped_) text += " stopped";
  if (is_over_) text += " over";
  return text;
}

}  // namespace train
