// SPDX-License-Identifier: Apache-2.0
#include "backends/log/report_count.hpp"

#include <utility>

#include "backends/log/log_reader.hpp"
#include "launcher/output/metrics_watch.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

// One rank's.
class Recount {
 public:
  Recount(const LogDirectory& directory, std::string log_file, int rank, ReportCount& count)
      : reader_(directory, std::move(log_file)), rank_(rank), count_(count) {}

  Result<void> run(std::uint64_t end, const std::atomic<bool>& is_unwanted) {
    for (std::uint64_t at = 0; at < end && !is_unwanted;) {
      const auto next = reader_.peek();
      if (!next) return tl::make_unexpected(next.error());
      if (!*next || (*next)->record.end() > end) break;
      const LogRecord record = (*next)->record;
      const auto piece = reader_.take();
      if (!piece) return tl::make_unexpected(piece.error());
      if (!*piece) continue;  // it is gone since: a gap before what comes next
      if (record.begin != at) {
        count_.is_whole = false;
        look({}, record.begin - at);
      }
      look(**piece, record.dropped);
      at = record.end();
    }
    count_.ignored += watch_.ignored();
    return {};
  }

 private:
  void look(std::string_view bytes, std::uint64_t dropped) {
    OutputChunk chunk;
    chunk.rank = rank_;
    chunk.stream = OutputStream::metrics;
    chunk.bytes = bytes;
    chunk.dropped = dropped;
    auto reports = watch_.look(chunk);
    count_.reports += reports.size();
    if (rank_ == 0 && !reports.empty()) count_.last_report = std::move(reports.back().json);
  }

  LogReader reader_;
  int rank_;
  ReportCount& count_;
  MetricsWatch watch_;
};

}  // namespace

Result<ReportCount> count_reports(const std::string& log_directory, int attempt,
                                  const std::vector<std::uint64_t>& ends,
                                  const std::atomic<bool>& is_unwanted) {
  ReportCount count;
  LogDirectory directory(log_directory);
  if (auto read = directory.refresh(); !read) return tl::make_unexpected(read.error());
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const std::string file = metrics_log_file(log_directory, static_cast<int>(rank), attempt);
    if (ends[rank] == 0) continue;
    Recount recount(directory, file, static_cast<int>(rank), count);
    if (auto counted = recount.run(ends[rank], is_unwanted); !counted)
      return tl::make_unexpected(counted.error());
  }
  return count;
}

}  // namespace train
