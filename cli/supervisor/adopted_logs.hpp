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

/// The end of the logs of this attempt, for the watches of a driver that resumes it
/// (`TrialLeft::last_output`). Printed output is included only if the experiment searches it for
/// something. Logs that cannot be read are reported and left out.
std::vector<OutputChunk> last_output(const std::string& log_directory, int ranks, int attempt,
                                     const ExperimentConfig& experiment);

/// The last lines that ranks wrote to their stderr under a previous launcher.
struct LastErrors {
  std::vector<std::string> of_ranks;  ///< by rank; shorter if a log could not be read
  std::optional<Error> trouble;       ///< the first read error
};
/// Reads a log of each rank: do not call it on a loop.
LastErrors last_errors(const std::string& log_directory, int attempt, int ranks);

/// What a resuming launcher looks up in the logs of its task while it runs: only the previous
/// launcher received it.
class AdoptedLogs {
 public:
  using Print = std::function<void(const TerminalText& said)>;

  /// `loop` and `task` must outlive this object.
  AdoptedLogs(Loop& loop, const TaskRecord& task, Print print);
  ~AdoptedLogs() { is_unwanted_->store(true); }
  AdoptedLogs(const AdoptedLogs&) = delete;
  AdoptedLogs& operator=(const AdoptedLogs&) = delete;

  /// Counts, in the background, the reports of ranks before these ends of their logs. Calls back
  /// once, from the loop; not if they cannot be counted, which is reported through `print`.
  void count_reports(int attempt, LogEnds ends, std::vector<std::string> patterns,
                     std::function<void(const ReportCount& counted)> on_counted);
  /// Runs the loop until the count is done, for `limit` at most.
  void finish(nanoseconds limit);

 private:
  void report_uncounted(const TerminalText& why) const;

  Loop& loop_;
  const TaskRecord& task_;
  Print print_;
  std::shared_ptr<std::atomic<bool>> is_unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_counting_ = false;
  bool is_finishing_ = false;
  Background background_;
};

}  // namespace train
