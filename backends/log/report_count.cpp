// SPDX-License-Identifier: Apache-2.0
#include "backends/log/report_count.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/log/log_reader.hpp"
#include "backends/log/report_reader.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

// Counts the reports in one log of a rank, which `look` finds.
class Recount {
 public:
  Recount(const LogDirectory& directory, std::string log_file, int rank, ReportReader look)
      : reader_(directory, std::move(log_file)), rank_(rank), look_(std::move(look)) {}

  Result<void> run(std::uint64_t end, const std::atomic<bool>& is_unwanted, ReportCount& count) {
    for (std::uint64_t at = 0; at < end && !is_unwanted;) {
      const auto next = reader_.peek();
      if (!next) return tl::make_unexpected(next.error());
      if (!*next || (*next)->record.end() > end) break;
      const LogRecord record = (*next)->record;
      const auto piece = reader_.take();
      if (!piece) return tl::make_unexpected(piece.error());
      if (!*piece) continue;  // it was removed meanwhile: a gap before the next piece
      if (record.begin != at) {
        count.is_whole = false;
        look(record, {}, record.begin - at, count);
      }
      look(record, **piece, record.dropped, count);
      at = record.end();
    }
    return {};
  }
  /// The time of the last report in this log.
  std::int64_t last_time() const { return last_time_; }

 private:
  void look(const LogRecord& record, std::string_view bytes, std::uint64_t dropped,
            ReportCount& count) {
    OutputChunk chunk;
    chunk.rank = rank_;
    chunk.stream = record.stream;
    chunk.bytes = bytes;
    chunk.dropped = dropped;
    auto reports = look_(chunk);
    if (reports.empty()) return;
    count.reports += reports.size();
    last_time_ = record.time_us;
    if (rank_ == 0) count.last_report = std::move(reports.back().json);
  }

  LogReader reader_;
  int rank_;
  ReportReader look_;
  std::int64_t last_time_ = std::numeric_limits<std::int64_t>::min();
};

std::uint64_t end_of(const std::vector<std::uint64_t>& ends, std::size_t rank) {
  return rank < ends.size() ? ends[rank] : 0;
}

}  // namespace

Result<ReportCount> count_reports(const std::string& log_directory, int attempt,
                                  const LogEnds& ends, const std::vector<std::string>& patterns,
                                  const std::atomic<bool>& is_unwanted) {
  ReportCount count;
  LogDirectory directory(log_directory);
  if (auto read = directory.refresh(); !read) return tl::make_unexpected(read.error());
  PrintedReports printed_reports(patterns);
  for (std::size_t i = 0; i < std::max(ends.metrics.size(), ends.printed.size()); ++i) {
    const int rank = static_cast<int>(i);
    MetricsWatch metrics_watch;
    Recount metrics(directory, metrics_log_file(log_directory, rank, attempt), rank,
                    look_in_metrics(metrics_watch));
    if (auto counted = metrics.run(end_of(ends.metrics, i), is_unwanted, count); !counted)
      return tl::make_unexpected(counted.error());
    count.ignored += metrics_watch.ignored();
    if (patterns.empty()) continue;
    Recount printed(directory, rank_log_file(log_directory, rank, attempt), rank,
                    look_in_output(printed_reports));
    const std::string last_of_metrics = count.last_report;
    if (auto counted = printed.run(end_of(ends.printed, i), is_unwanted, count); !counted)
      return tl::make_unexpected(counted.error());
    if (metrics.last_time() > printed.last_time()) count.last_report = last_of_metrics;
  }
  return count;
}

}  // namespace train
