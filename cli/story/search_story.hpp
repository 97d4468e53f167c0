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

/// Tells what happens to a search while it does: lines for the user, one when a trial begins and
/// one when it has ended, and the state of the task in its record. What the trials have come to is
/// in the journal.
class SearchStory {
 public:
  /// All must outlive this.
  SearchStory(Terminal& terminal, RankOutput& shown, const ExperimentConfig& experiment,
              TaskRecord& task, TaskRecorder& recorder, EventTime& time)
      : terminal_(terminal),
        shown_(shown),
        experiment_(experiment),
        task_(task),
        recorder_(recorder),
        time_(time),
        context_(terminal, task, recorder) {}

  /// Once ranks of a trial have started for the first time.
  void on_first_start(std::function<void()> callback) { on_first_start_ = std::move(callback); }

  /// Of a search that is gone on with: once nothing is to be asked for any more to reach its hosts.
  void on_reached(std::function<void()> callback) { on_reached_ = std::move(callback); }

  SearchDriver::Hooks hooks();
  /// Of the task, whose first trial has this plan.
  TaskHooks hooks_of_task(const Plan& first, std::function<void()> on_over);
  /// Before anything happens: whose story it is, and where its output goes. They outlive this.
  void follow(const SearchDriver& driver, LaunchOutput& output);
  /// The trials are shown as a table below what is said, until the search is over; after `follow`.
  void show_trials(Timers& timers);
  /// What it has come to: how many trials ended how, and the best one.
  TerminalText summary() const;

 private:
  void say(const TerminalText& text);
  void made(const search_action::Make& trial);
  TaskHooks hooks_of(const Plan& plan);
  void tell_begin(const Plan& plan);
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
  std::map<int, TerminalText> failures_;        ///< of their last attempts, a line
  std::set<int> waiting_;  ///< trials that others have kept from their slots, as was said
  bool has_ignored_lines_ = false;
};

}  // namespace train
