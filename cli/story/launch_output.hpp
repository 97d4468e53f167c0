// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/log/log_writer.hpp"
#include "cli/logs/rank_output.hpp"
#include "launcher/output/output_sink.hpp"
#include "launcher/task/event_time.hpp"

namespace train {

/// Writes the output of ranks to the terminal and to the log files.
class LaunchOutput final : public OutputSink {
 public:
  /// All arguments must outlive this object.
  LaunchOutput(RankOutput& shown, LogWriter& logs, EventTime& time)
      : shown_(shown), logs_(logs), time_(time) {}

  /// Creates the files of this attempt, whether or not it prints.
  void begin_attempt(AttemptId of) { logs_.write({0, OutputStream::out, 0, {}, 0, of}); }
  /// No more output of this trial comes: shows, writes and forgets the rest of it.
  void end_trial(int trial);
  std::uint64_t take(OutputChunk chunk, nanoseconds age) override;
  std::uint64_t written() const override { return logs_.written(); }
  std::uint64_t synced() const override { return logs_.synced(); }
  void expect_end() override { logs_.expect_end(); }
  void expect_another(AttemptId ended) override { logs_.expect_another(ended); }

 private:
  RankOutput& shown_;
  LogWriter& logs_;
  EventTime& time_;
};

}  // namespace train
