// SPDX-License-Identifier: Apache-2.0
#include "backends/log/attempt_logs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/log/log_sync.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

AttemptLogs::AttemptLogs(std::string directory, int ranks, std::optional<std::uint64_t> limit)
    : directory_(std::move(directory)), ranks_(ranks), limit_(limit) {}

Result<void> AttemptLogs::begin(int attempt) {
  open(attempt);
  return files_->create();
}

Result<std::vector<std::uint64_t>> AttemptLogs::adopt(int attempt) {
  open(attempt);
  auto positions = files_->adopt();
  if (!positions) return positions;
  const auto of_metrics = metrics().adopt();
  if (!of_metrics) return of_metrics;
  positions->insert(positions->end(), of_metrics->begin(), of_metrics->end());
  return positions;
}

void AttemptLogs::open(int attempt) {
  std::vector<std::string> files;
  files.reserve(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    files.push_back(rank_log_file(directory_, rank, attempt));
  const auto limits = log_limits(limit_, free_bytes(directory_), files.size());
  attempt_ = attempt;
  for (auto* logs : {&files_, &metrics_})
    if (*logs) earlier_.push_back((*logs)->begin_sync());
  files_.emplace(std::move(files), limits);
  metrics_.reset();
}

LogFiles& AttemptLogs::metrics() {
  if (metrics_) return *metrics_;
  constexpr std::uint64_t most_of_task = 1u << 30;
  std::vector<std::string> files;
  files.reserve(static_cast<std::size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    files.push_back(metrics_log_file(directory_, rank, attempt_));
  auto limits = log_limits(limit_, free_bytes(directory_), files.size());
  limits.of_task = std::min(limits.of_task, most_of_task);
  return metrics_.emplace(std::move(files), limits, LogFiles::Making::when_written);
}

// If the files cannot be created now, the next write to them tries again, or reports why it fails.
LogSink::Outcome AttemptLogs::append(const LogPiece& piece, std::size_t from, NoRoom no_room) {
  const std::size_t size = piece.bytes.size();
  if (piece.of.attempt < attempt_)
    return {size, false, size - from, "it came after the next attempt had begun"};
  std::string trouble;
  if (piece.of.attempt > attempt_)
    if (const auto begun = begin(piece.of.attempt); !begun)
      trouble = begun.error().diagnostics.front().message;
  if (size == 0 && piece.dropped == 0) return {0, false, 0, std::move(trouble)};
  LogFiles& logs = piece.stream == OutputStream::metrics ? metrics() : *files_;
  Outcome outcome = logs.append(piece, from, no_room);
  if (outcome.trouble.empty()) outcome.trouble = std::move(trouble);
  return outcome;
}

LogSink::Sync AttemptLogs::begin_sync() {
  auto syncs = std::exchange(earlier_, {});
  for (auto* logs : {&files_, &metrics_})
    if (*logs) syncs.push_back((*logs)->begin_sync());
  return join_syncs(std::move(syncs));
}

std::size_t AttemptLogs::open_logs() const {
  return (files_ ? files_->open_logs() : 0) + (metrics_ ? metrics_->open_logs() : 0);
}

void AttemptLogs::close_files() {
  for (auto* logs : {&files_, &metrics_})
    if (*logs) (*logs)->close_files();
}

}  // namespace train
