// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/log/log_writer.hpp"
#include "cli/rank_output.hpp"
#include "cli/terminal.hpp"
#include "launcher/output/output_sink.hpp"

namespace train {

/// What ranks print, on the terminal and in the log files.
class LaunchOutput final : public OutputSink {
 public:
  /// All must outlive this.
  LaunchOutput(RankOutput& shown, const Terminal& terminal, LogWriter& logs)
      : shown_(shown), terminal_(terminal), logs_(logs) {}

  std::uint64_t take(OutputChunk chunk, nanoseconds age) override;
  std::uint64_t kept() const override { return logs_.written(); }
  bool has_room() const override { return !terminal_.full(); }
  void expect_end() override { logs_.expect_end(); }

 private:
  RankOutput& shown_;
  const Terminal& terminal_;
  LogWriter& logs_;
};

}  // namespace train
