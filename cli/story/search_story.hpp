// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/logs/rank_output.hpp"
#include "cli/record/task_recorder.hpp"
#include "cli/story/context_story.hpp"
#include "cli/story/launch_output.hpp"
#include "cli/story/live_trials.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/drivers/search_driver.hpp"

namespace train {

/// Reports the events of a search as they happen: to the user, one line when a trial begins and one
/// when it has ended; in the record, the state of the task. The results of the trials are in the
/// journal.
class SearchStory {
 public:
  /// All arguments must outlive this object.
  SearchStory(Terminal& terminal, RankOutput& shown, const ExperimentConfig& experiment,
              TaskRecord& task, TaskRecorder& recorder, EventTime& time)
      : terminal_(terminal),
        shown_(shown),
        experiment_(experiment),
        task_(task),
        recorder_(recorder),
        time_(time),
        context_(terminal, task, recorder) {}

  /// Called once, when ranks of a trial have started for the first time.
  void on_first_start(std::function<void()> callback) { on_first_start_ = std::move(callback); }

  /// Called for a resumed search when no user input is needed any more to reach its hosts.
  void on_reached(std::function<void()> callback) { on_reached_ = std::move(callback); }

  SearchDriver::Hooks hooks();
  /// The hooks of the task; its first trial has this plan.
  TaskHooks hooks_of_task(const Plan& first, std::function<void()> on_over);
  /// Sets the driver that is reported on and the destination of its output. Call it before anything
  /// happens; both must outlive this object.
  void follow(const SearchDriver& driver, LaunchOutput& output);
  /// Shows the trials as a table below the messages until the search is over; call it after
  /// `follow`.
  void show_trials(Timers& timers);
  /// The result: how many trials ended in which state, and the best one.
  TerminalText summary() const;

 private:
  void print(const TerminalText& text);
  void made(const search_action::Make& trial);
  TaskHooks hooks_of(const Plan& plan);
  void report_begin(const Plan& plan);
  void attempt_over(const Trial& trial, const RunOutcome& outcome);
  void over(int trial);

  Terminal& terminal_;
  RankOutput& shown_;
  const ExperimentConfig& experiment_;
  TaskRecord& task_;
  TaskRecorder& recorder_;
  EventTime& time_;
  ContextStory context_;
  std::function<void()> on_first_start_ = [] {};
  std::function<void()> on_reached_ = [] {};
  const SearchDriver* driver_ = nullptr;
  LaunchOutput* output_ = nullptr;
  std::optional<LiveTrials> table_;
  std::map<std::int64_t, std::string> varied_;  ///< of trials that have not ended, as text
  std::map<int, TerminalText> failures_;        ///< of the last attempts, one line each, by trial
  std::set<int> waiting_;  ///< trials that were reported to wait for slots that others hold
  bool has_ignored_lines_ = false;
};

}  // namespace train
