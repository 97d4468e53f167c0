// SPDX-License-Identifier: Apache-2.0
#include "cli/logs/merged_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/terminal/talk.hpp"
#include "launcher/output/rank_list.hpp"

namespace train {

namespace {

constexpr std::size_t much_text = 256u << 10;

// The record names the log files of the last attempt.
std::string log_of(const TaskRecord& task, const RankRecord& rank, int attempt) {
  if (attempt == task.restarts) return rank.log_file;
  return rank_log_file(task.log_directory, rank.rank, attempt);
}

}  // namespace

MergedLogs::MergedLogs(const TaskRecord& task, int attempt, const Choice& choice)
    : directory_(task.log_directory),
      choice_(choice.lines),
      style_(choice.style),
      gate_(choice.lines.since_us) {
  if (style_.is_folded && !style_.is_bytes)
    folder_.emplace(choice.ranks ? choice.ranks->size() : task.ranks.size());
  for (const RankRecord& rank : task.ranks)
    if (!choice.ranks || choice.ranks->contains(rank.rank))
      logs_.emplace_back(directory_, rank.rank, log_of(task, rank, attempt), choice.style,
                         choice.lines.stream, folder_ ? &*folder_ : nullptr);
}

Result<std::uint64_t> MergedLogs::count() {
  if (auto begun = begin(); !begun) return tl::make_unexpected(begun.error());
  auto lines = count_from_here();
  if (!lines) return lines;
  return std::min(*lines, choice_.last.value_or(*lines));
}

Result<void> MergedLogs::begin() {
  if (auto refreshed = directory_.refresh(); !refreshed) return refreshed;
  for (RankLog& log : logs_)
    if (auto begun = log.begin_near(choice_); !begun) return begun;
  if (!choice_.last) return {};
  // Skips all lines from here on except for the last ones.
  const auto lines = count_from_here();
  if (!lines) return tl::make_unexpected(lines.error());
  gate_ = LineGate(choice_.since_us, *lines - std::min(*lines, *choice_.last));
  return {};
}

Result<std::uint64_t> MergedLogs::count_from_here() {
  std::vector<RankLog> logs = logs_;
  LineGate gate(choice_.since_us, LineGate::skip_all);
  std::string nothing;
  const auto read = pour(logs, gate, [](std::string_view) { return true; });
  if (!read) return tl::make_unexpected(read.error());
  for (RankLog& log : logs) log.append_end(gate, nothing);
  return gate.count();
}

Result<bool> MergedLogs::print_new(const Sink& sink) {
  if (auto refreshed = directory_.refresh(); !refreshed)
    return tl::make_unexpected(refreshed.error());
  auto printed = pour(logs_, gate_, sink);
  if (!printed || !*printed || !folder_) return printed;
  const auto now = std::chrono::duration_cast<LineFolder::Moment>(wall_time());
  std::string text;
  append_folded(folder_->take(now), text);
  return sink(text);
}

std::vector<std::string> MergedLogs::rewritten_lines(std::size_t most) const {
  std::vector<std::string> lines;
  for (const RankLog& log : logs_)
    if (lines.size() < most) log.append_rewritten(lines);
  return lines;
}

void MergedLogs::append_folded(const std::vector<FoldedLine>& lines, std::string& text) {
  for (const FoldedLine& line : lines) {
    if (style_.has_times) {
      times_.append(text, line.printed_us);
      text += ' ';
    }
    fmt::format_to(std::back_inserter(text), "[{}] {}\n", rank_list_text(line.ranks), line.text);
  }
}

Result<bool> MergedLogs::pour(std::vector<RankLog>& logs, LineGate& gate, const Sink& sink) {
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  const auto enqueue = [&](std::size_t log) -> Result<void> {
    auto next = logs[log].peek();
    if (!next) return tl::make_unexpected(next.error());
    if (*next) waiting.push({(*next)->record.time_us, log, **next});
    return {};
  };
  for (std::size_t log = 0; log < logs.size(); ++log)
    if (auto next = enqueue(log); !next) return tl::make_unexpected(next.error());
  std::string text;
  while (!waiting.empty()) {
    const auto [time, log, piece] = waiting.top();
    waiting.pop();
    auto appended = logs[log].append_next(piece, gate, text);
    if (appended) appended = enqueue(log);
    if (!appended) return tl::make_unexpected(appended.error());
    if (folder_) append_folded(folder_->take(LineFolder::Moment(time)), text);
    if (text.size() < much_text) continue;
    if (auto passed = sink(text); !passed || !*passed) return passed;
    text.clear();
  }
  return sink(text);
}

Result<bool> MergedLogs::print_end(const Sink& sink, bool has_ended) {
  std::string text;
  for (RankLog& log : logs_) {
    log.append_end(gate_, text);
    if (const auto unread = has_ended ? log.bytes_without_record() : 0; unread > 0)
      talk(
          terminal_text("warning: {} bytes at the end of '{}' are not shown: the launcher ended "
                        "while it wrote them",
                        unread, log.file()));
  }
  if (folder_) append_folded(folder_->take_all(), text);
  return sink(text);
}

}  // namespace train
