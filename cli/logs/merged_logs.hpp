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

/// The logs of an attempt of a task, or of some of its ranks, as one, in the order of their times.
class MergedLogs {
 public:
  struct Choice {
    std::optional<std::set<int>> ranks;  ///< only these; they are the task's
    LineChoice lines;
    LineStyle style;
  };

  MergedLogs(const TaskRecord& task, int attempt, const Choice& choice);
  MergedLogs(const MergedLogs&) = delete;  // its logs know its directory
  MergedLogs& operator=(const MergedLogs&) = delete;

  /// How many lines of the choice there are, up to `LineChoice::last` of them. Before `begin`.
  Result<std::uint64_t> count();
  /// Before anything is printed: begins where the choice begins.
  Result<void> begin();

  /// Takes text; false when nobody reads it.
  using Sink = std::function<Result<bool>(std::string_view text)>;
  /// Passes on what is there now and was not before; false when nobody reads it.
  Result<bool> print_new(const Sink& sink);
  /// The same with last lines that have no newline. Of an attempt that `has_ended`, says what
  /// cannot be shown.
  Result<bool> print_end(const Sink& sink, bool has_ended);

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

  LogDirectory directory_;
  LineChoice choice_;
  std::vector<RankLog> logs_;
  LineGate gate_;
};

}  // namespace train
