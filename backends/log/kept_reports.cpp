// SPDX-License-Identifier: Apache-2.0
#include "backends/log/kept_reports.hpp"

#include <sys/stat.h>

#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "backends/log/log_reader.hpp"
#include "backends/log/report_reader.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

// One log of a rank, and the function that finds the reports in it.
class KeptLog {
 public:
  KeptLog(const LogDirectory& directory, std::string file, int rank, ReportReader look)
      : reader_(directory, std::move(file)), rank_(rank), look_(std::move(look)) {}

  /// The time of the next piece; nothing when there is none.
  Result<std::optional<std::int64_t>> next_time() {
    const auto next = reader_.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) return std::nullopt;
    next_ = **next;
    return next_.record.time_us;
  }
  /// Takes that piece, and adds the reports that it completes.
  Result<void> take(std::vector<std::string>& reports) {
    OutputChunk chunk;
    chunk.rank = rank_;
    chunk.stream = next_.record.stream;
    chunk.dropped = next_.record.dropped + next_.gap;
    const auto piece = reader_.take();
    if (!piece) return tl::make_unexpected(piece.error());
    if (!*piece) return {};  // it was removed meanwhile
    chunk.bytes = **piece;
    for (MetricsReport& report : look_(chunk)) reports.push_back(std::move(report.json));
    return {};
  }

 private:
  LogReader reader_;
  int rank_;
  LogReader::Next next_;
  ReportReader look_;
};

// Merges by time; pieces of the same time are taken in the order of the logs.
Result<std::vector<std::string>> merged_reports(std::deque<KeptLog>& logs) {
  using Waiting = std::pair<std::int64_t, std::size_t>;  // time, index of the log
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  const auto enqueue = [&](std::size_t log) -> Result<void> {
    const auto time = logs[log].next_time();
    if (!time) return tl::make_unexpected(time.error());
    if (*time) waiting.emplace(**time, log);
    return {};
  };
  for (std::size_t log = 0; log < logs.size(); ++log)
    if (auto next = enqueue(log); !next) return tl::make_unexpected(next.error());
  std::vector<std::string> reports;
  while (!waiting.empty()) {
    const std::size_t log = waiting.top().second;
    waiting.pop();
    auto taken = logs[log].take(reports);
    if (taken) taken = enqueue(log);
    if (!taken) return tl::make_unexpected(taken.error());
  }
  return reports;
}

}  // namespace

Result<std::vector<std::string>> kept_reports(const std::string& log_directory,
                                              const std::vector<int>& ranks, int attempt,
                                              const std::vector<std::string>& patterns) {
  struct stat status {};
  if (::stat(log_directory.c_str(), &status) != 0) return std::vector<std::string>();
  LogDirectory directory(log_directory);
  if (auto read = directory.refresh(); !read) return tl::make_unexpected(read.error());
  MetricsWatch metrics;
  PrintedReports printed(patterns);
  std::deque<KeptLog> logs;
  const auto add = [&](const std::string& file, int rank, const ReportReader& look) {
    if (!directory.segments_of(file).empty()) logs.emplace_back(directory, file, rank, look);
  };
  for (const int rank : ranks) {
    add(metrics_log_file(log_directory, rank, attempt), rank, look_in_metrics(metrics));
    if (patterns.empty()) continue;
    add(rank_log_file(log_directory, rank, attempt), rank, look_in_output(printed));
  }
  return merged_reports(logs);
}

}  // namespace train
