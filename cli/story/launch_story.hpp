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

/// Tells what happens to a task while it does, in two places: lines for the user, and its record.
class LaunchStory {
 public:
  /// All must outlive this.
  LaunchStory(Terminal& terminal, RankOutput& shown, const Trial& trial, TaskRecord& task,
              TaskRecorder& recorder, EventTime& time)
      : terminal_(terminal),
        shown_(shown),
        trial_(trial),
        task_(task),
        recorder_(recorder),
        time_(time),
        context_(terminal, task, recorder) {}

  /// Once all ranks have started for the first time.
  void on_first_start(std::function<void()> callback) { on_first_start_ = std::move(callback); }
  /// Once the hosts of a task that is gone on with were reached again.
  void on_reached(std::function<void()> callback) { on_reached_ = std::move(callback); }
  /// An attempt that is not the first begins.
  void on_attempt(std::function<void(int attempt)> callback) { on_attempt_ = std::move(callback); }
  /// For a driver that begins, or goes on, with this attempt; `on_over` comes at the end of the
  /// task.
  TaskDriver::Hooks hooks(int attempt, std::function<void()> on_over);
  /// What the ranks had reported of the attempt that the driver goes on with, before it did: the
  /// record has what a launcher before had found the time to write.
  void counted_before(const ReportCount& counted);
  /// The task is over, maybe before any attempt.
  void end(const RunOutcome& outcome);

 private:
  void say(const TerminalText& text);
  void begin_attempt(int attempt, UnixMillis begun);
  void all_started();
  void attempt_over(const RunOutcome& outcome);
  void reported(const MetricsReport& report);
  void lines_ignored(std::uint64_t lines);
  void used(int rank, const RankUsage& usage);
  void policy_matched(const LogPolicy& policy, const PolicyMatch& match);
  void restart(const task_action::AnnounceRestart& restart);

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
  TerminalText failure_;  ///< of the last attempt, a line
  UnixMillis usage_recorded_ = 0;

  /// What the record had of the first attempt here.
  struct Recorded {
    int attempt = 0;
    std::int64_t reports = 0;
    std::int64_t ignored_lines = 0;
    bool has_newer_report = false;  ///< rank 0 has made one since
  };
  Recorded recorded_;
};

/// The policies of which this attempt's record says that they have found a line; by index.
std::vector<std::size_t> recorded_matches(const AttemptRecord& attempt,
                                          const std::vector<LogPolicy>& policies);

}  // namespace train
