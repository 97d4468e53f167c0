// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/logs/rank_log.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// The logs of an attempt of a task, or of some of its ranks, merged in the order of their times.
class MergedLogs {
 public:
  struct Choice {
    std::optional<std::set<int>> ranks;  ///< only these; they must be ranks of the task
    LineChoice lines;
    LineStyle style;
  };

  MergedLogs(const TaskRecord& task, int attempt, const Choice& choice);
  MergedLogs(const MergedLogs&) = delete;  // the logs refer to its directory
  MergedLogs& operator=(const MergedLogs&) = delete;

  /// The number of lines that match the choice, up to `LineChoice::last`. Call it before `begin`.
  Result<std::uint64_t> count();
  /// Goes to the first line of the choice. Call it before anything is printed.
  Result<void> begin();

  /// Takes text; returns false when the reader is gone.
  using Sink = std::function<Result<bool>(std::string_view text)>;
  /// Prints the output that is new since the last call; false when the reader is gone. If lines are
  /// folded, some may be held: they are printed by a call after `LineFolder::hold`.
  Result<bool> print_new(const Sink& sink);
  /// The same, including last lines without a newline. If the attempt `has_ended`, also reports
  /// bytes that cannot be shown.
  Result<bool> print_end(const Sink& sink, bool has_ended);
  bool holds_lines() const { return folder_ && folder_->holds_lines(); }
  /// Unfinished lines that ranks have begun anew with a carriage return, such as progress bars, at
  /// most `most`.
  std::vector<std::string> rewritten_lines(std::size_t most) const;

 private:
  struct Waiting {
    std::int64_t time_us = 0;
    std::size_t log = 0;
    LogReader::Next piece;

    bool operator>(const Waiting& other) const {
      return std::pair(time_us, log) > std::pair(other.time_us, other.log);
    }
  };

  Result<std::uint64_t> count_from_here();
  Result<bool> pour(std::vector<RankLog>& logs, LineGate& gate, const Sink& sink);
  void append_folded(const std::vector<FoldedLine>& lines, std::string& text);

  LogDirectory directory_;
  LineChoice choice_;
  LineStyle style_;
  MomentWriter times_;
  std::optional<LineFolder> folder_;
  std::vector<RankLog> logs_;
  LineGate gate_;
};

}  // namespace train
