// SPDX-License-Identifier: Apache-2.0
#include "launcher/report_page/recorded_time_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

using What = RecordedEvent::What;

constexpr std::size_t most_rows = 40;
constexpr std::size_t most_bars = 5'000;
constexpr UnixMillis least_wait = 100;  // shorter waits are not drawn

TimeBar bar_of(TimeBar::Kind kind, UnixMillis begin, UnixMillis end, const std::string& words) {
  return {
      .kind = kind,
      .begin = begin,
      .end = std::max(begin, end),
      .words = fmt::format("{}, {}", words, format_duration(std::max<UnixMillis>(0, end - begin)))};
}

// When an attempt came to this point; nothing if it did not, or the time is not known.
std::optional<UnixMillis> time_of(const std::vector<RecordedEvent>& events, int attempt,
                                  What what) {
  for (const RecordedEvent& event : events)
    if (event.attempt == attempt && event.what == what) return event.at;
  return std::nullopt;
}

void add_wait(TimeLine& time_line, const TaskRecord& task, UnixMillis until) {
  if (until - task.created < least_wait) return;
  time_line.rows.push_back(
      {.name = "before the first attempt",
       .bars = {bar_of(TimeBar::Kind::queued, task.created, until, "waiting")}});
}

TimeRow row_of(const AttemptRecord& attempt, const std::vector<RecordedEvent>& events,
               UnixMillis task_end) {
  const UnixMillis end = attempt.ended.value_or(task_end);
  const auto started = time_of(events, attempt.number, What::ranks_started);
  const auto failing = time_of(events, attempt.number, What::attempt_failing);
  TimeRow row{
      .name = fmt::format("attempt {}", attempt.number), .remark = attempt.cause, .bars = {}};
  const UnixMillis until = std::min(failing.value_or(end), end);
  row.bars.push_back(
      bar_of(TimeBar::Kind::starting, attempt.started, started.value_or(until), "starting"));
  if (started) row.bars.push_back(bar_of(TimeBar::Kind::running, *started, until, "running"));
  row.bars.back().ends_in_failure = !attempt.cause.empty();
  if (failing) row.bars.push_back(bar_of(TimeBar::Kind::stopping, until, end, "being stopped"));
  return row;
}

TimeBar::Kind kind_of_bar(TrialState state) {
  switch (state) {
    case TrialState::waiting:
    case TrialState::running:
      return TimeBar::Kind::running;
    case TrialState::stopping:
      return TimeBar::Kind::stopping;
    case TrialState::succeeded:
      return TimeBar::Kind::succeeded;
    case TrialState::stopped:
      return TimeBar::Kind::stopped;
    case TrialState::failed:
    case TrialState::invalid:
    case TrialState::killed:
      return TimeBar::Kind::failed;
  }
  return TimeBar::Kind::failed;
}

}  // namespace

TimeLine time_line_of(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                      UnixMillis now) {
  TimeLine time_line;
  const UnixMillis end = task.ended.value_or(now);
  add_wait(time_line, task, task.attempts.empty() ? end : task.attempts.front().started);
  const std::size_t count = task.attempts.size();
  const std::size_t left_out = count > most_rows ? count - most_rows : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && i <= left_out) continue;  // the first one is shown, and the last ones
    time_line.rows.push_back(row_of(task.attempts[i], events, end));
  }
  if (left_out > 0)
    time_line.remark = fmt::format("{} attempts after the first are not drawn.", left_out);
  return time_line;
}

TimeLine time_line_of(const TaskRecord& task, const SearchRecord& search, UnixMillis now) {
  TimeLine time_line;
  const UnixMillis end = task.ended.value_or(now);
  TimeRow row{.name = "trials", .bars = {}};
  std::size_t left_out = 0;
  for (const TrialRecord& trial : search.trials)
    for (const TrialAttempt& attempt : trial.attempts) {
      if (!attempt.started) continue;
      if (row.bars.size() == most_bars) {
        ++left_out;
        continue;
      }
      const bool is_last = &attempt == &trial.attempts.back();
      const std::string state(trial_states().row(is_last ? trial.state : TrialState::failed).name);
      TimeBar bar =
          bar_of(is_last ? kind_of_bar(trial.state) : TimeBar::Kind::failed, *attempt.started,
                 attempt.ended.value_or(end), fmt::format("trial {}: {}", trial.trial, state));
      if (attempt.ranks_started)
        bar.started = attempt.ranks_started;
      else if (!attempt.ended && !task.ended)
        bar.kind = TimeBar::Kind::starting;
      bar.ends_in_failure = bar.kind == TimeBar::Kind::failed;
      row.bars.push_back(std::move(bar));
    }
  const auto first =
      std::min_element(row.bars.begin(), row.bars.end(),
                       [](const TimeBar& a, const TimeBar& b) { return a.begin < b.begin; });
  add_wait(time_line, task, first == row.bars.end() ? end : first->begin);
  time_line.rows.push_back(std::move(row));
  if (left_out > 0) time_line.remark = fmt::format("{} attempts are not drawn.", left_out);
  return time_line;
}

}  // namespace train
