// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/log/report_count.hpp"
#include "cli/logs/rank_output.hpp"
#include "cli/record/task_recorder.hpp"
#include "cli/story/context_story.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/drivers/task_driver.hpp"

namespace train {

/// Reports the events of a task as they happen: as lines for the user, and in its record.
class LaunchStory {
 public:
  /// All arguments must outlive this object.
  LaunchStory(Terminal& terminal, RankOutput& shown, const Trial& trial, TaskRecord& task,
              TaskRecorder& recorder, EventTime& time)
      : terminal_(terminal),
        shown_(shown),
        trial_(trial),
        task_(task),
        recorder_(recorder),
        time_(time),
        context_(terminal, task, recorder) {}

  /// Called once, when all ranks have started for the first time.
  void on_first_start(std::function<void()> callback) { on_first_start_ = std::move(callback); }
  /// Called when a resumed task has reached its hosts again.
  void on_reached(std::function<void()> callback) { on_reached_ = std::move(callback); }
  /// Called when an attempt other than the first begins.
  void on_attempt(std::function<void(int attempt)> callback) { on_attempt_ = std::move(callback); }
  /// Where it is written what every rank does when the ranks hang.
  void keep_hangs_in(std::string file) { hang_file_ = std::move(file); }
  /// The hooks for a driver that begins or resumes this attempt; `on_over` is called at the end of
  /// the task.
  TaskDriver::Hooks hooks(int attempt, std::function<void()> on_over);
  /// Corrects the counts of the resumed attempt by what the ranks had reported before this launcher
  /// took over: the record contains only what the previous launcher had written in time.
  void counted_before(const ReportCount& counted);
  /// The task is over, possibly before any attempt.
  void end(const RunOutcome& outcome);

 private:
  void print(const TerminalText& text);
  void begin_attempt(int attempt, UnixMillis begun);
  void all_started();
  void attempt_over(const RunOutcome& outcome);
  void reported(const MetricsReport& report);
  void lines_ignored(std::uint64_t lines);
  void used(int rank, const RankUsage& usage);
  void policy_matched(const LogPolicy& policy, const PolicyMatch& match);
  void restart(const task_action::AnnounceRestart& restart);
  void ranks_hang(const HangReport& report);

  Terminal& terminal_;
  RankOutput& shown_;
  const Trial& trial_;
  TaskRecord& task_;
  TaskRecorder& recorder_;
  EventTime& time_;
  ContextStory context_;
  std::function<void()> on_first_start_ = [] {};
  std::function<void()> on_reached_ = [] {};
  std::function<void(int)> on_attempt_ = [](int) {};
  std::string hang_file_;
  TerminalText failure_;  ///< of the last attempt, one line
  UnixMillis usage_recorded_ = 0;

  /// What the record contained for the first attempt of this launcher.
  struct Recorded {
    int attempt = 0;
    std::int64_t reports = 0;
    std::int64_t ignored_lines = 0;
    bool has_newer_report = false;  ///< rank 0 has reported since
  };
  Recorded recorded_;
};

/// The policies that have matched a line according to this attempt's record, by index.
std::vector<std::size_t> recorded_matches(const AttemptRecord& attempt,
                                          const std::vector<LogPolicy>& policies);

}  // namespace train
