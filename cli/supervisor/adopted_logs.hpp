// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/log/report_count.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

/// What the logs of this attempt end with, for the watches of a driver that goes on with it
/// (`TrialLeft::last_output`); of what was printed only where the experiment looks for something in
/// it. Logs that cannot be read are said, and left out.
std::vector<OutputChunk> last_output(const std::string& log_directory, int ranks, int attempt,
                                     const ExperimentConfig& experiment);

/// The last that ranks have written to their stderr, which another launcher has been told.
struct LastErrors {
  std::vector<std::string> of_ranks;  ///< by rank; shorter when there was trouble
  std::optional<Error> trouble;       ///< what the first that could not be read met with
};
/// Reads a log of each rank: not on a loop.
LastErrors last_errors(const std::string& log_directory, int attempt, int ranks);

/// What a launcher that goes on with a task looks up in its logs while it does: it was said to the
/// one before.
class AdoptedLogs {
 public:
  using Say = std::function<void(const TerminalText& said)>;

  /// `loop` and `task` outlive this.
  AdoptedLogs(Loop& loop, const TaskRecord& task, Say say);
  ~AdoptedLogs() { is_unwanted_->store(true); }
  AdoptedLogs(const AdoptedLogs&) = delete;
  AdoptedLogs& operator=(const AdoptedLogs&) = delete;

  /// Counts, beside the loop, what ranks have reported before these ends of their logs: calls back
  /// once, from the loop, unless it cannot be counted, which is said.
  void count_reports(int attempt, LogEnds ends, std::vector<std::string> patterns,
                     std::function<void(const ReportCount& counted)> on_counted);
  /// Runs the loop until that is done, for `limit` at most.
  void finish(nanoseconds limit);

 private:
  void say_uncounted(const TerminalText& why) const;

  Loop& loop_;
  const TaskRecord& task_;
  Say say_;
  std::shared_ptr<std::atomic<bool>> is_unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_counting_ = false;
  bool is_finishing_ = false;
  Background background_;
};

}  // namespace train
