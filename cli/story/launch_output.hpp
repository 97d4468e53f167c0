// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/log/log_writer.hpp"
#include "cli/logs/rank_output.hpp"
#include "launcher/output/output_sink.hpp"
#include "launcher/task/event_time.hpp"

namespace train {

/// What ranks print, on the terminal and in the log files.
class LaunchOutput final : public OutputSink {
 public:
  /// All must outlive this.
  LaunchOutput(RankOutput& shown, LogWriter& logs, EventTime& time)
      : shown_(shown), logs_(logs), time_(time) {}

  /// From here on this attempt's files are there, whether or not it prints.
  void begin_attempt(AttemptId of) { logs_.write({0, OutputStream::out, 0, {}, 0, of}); }
  /// Nothing of this trial follows: what it has printed is shown, written down and forgotten.
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
